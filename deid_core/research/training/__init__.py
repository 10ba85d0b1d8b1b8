"""Training of our tagger: recipes, copies with invented values, learners."""
