"""The published systems: trained and rule-based de-identifiers of five papers.

| presets | paper |
| --- | --- |
| ``stat-deid-*`` | Tafvizi and Pacula, after Uzuner and others 2008 |
| ``mist1``, ``mist2``, ``mcrf1``, ``mcrf2`` | Deleger and others 2013 |
| ``uza-*`` | Scheurwegs and others 2013 |
| ``wi-deid-*`` | He and others 2015 |
| ``nus``, ``nus-maxent`` | Yuwono, Ng and Ngiam 2016; see the folder `nus` |

All but the last are word classifiers: `recipe` (how a system is trained), `sentences`,
`features`, `classes`, `learners`, `training`, and what training returns, a `model` with
its `predictors`.  Unlike the product's tagger, whose features compile to tables, they
extract features while tagging.  `detectors` registers all of them by entry point.
"""
