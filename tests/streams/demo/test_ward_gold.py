"""A ward's notes as a marked corpus."""

from streams.demo.gold import ward_corpus


def test_what_was_planted_is_marked_with_how_and_the_record_is_joined():
    found = ward_corpus(12, split="dev", seed=3, patients=10)

    for document in found.documents:
        names = {
            part.lower()
            for name in document.known.patient_names
            for part in (name.family, name.given)
        }
        exact = [each for each in document.spans if each.kinds == ("exact",)]
        for each in exact:
            text = document.text[each.span.start : each.span.end].lower()
            assert any(name in text for name in names)
    assert any(document.spans for document in found.documents)
    assert all(document.known for document in found.documents)


def test_the_same_seed_gives_the_same_corpus_and_another_another():
    def texts(seed):
        of = ward_corpus(5, split="dev", seed=seed, patients=5)
        return [each.text for each in of.documents]

    assert texts(1) == texts(1) != texts(2)


def test_spans_are_in_order():
    for document in ward_corpus(8, split="dev", seed=4, patients=8).documents:
        spans = [each.span for each in document.spans]
        assert spans == sorted(spans)
