"""The experiments of papers 1 and 3 run whole, on a small part of each corpus."""

from pathlib import Path

import orjson
import pytest

pytest.importorskip("matplotlib", reason="needs the extra train")
pytest.importorskip("sklearn", reason="needs the extra train")
pytest.importorskip("pycrfsuite", reason="needs the extra train")

from deid_core.research.experiments import EXPERIMENTS
from deid_core.research.experiments.harness.report import write_report
from deid_core.research.experiments.harness.runner import Runner

DATA = Path("../shared/data")
NAMES = (
    *("cross-validation", "post-rules", "recall-bias", "annotators", "medication"),
    *("missed", "wi-deid", "feature-sets", "errors", "type-confusion"),
)
NEEDED = ("meddocan/train", "aci-bench", "mtsamples", "asq-phi", "mts-dialog")

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not all((DATA / each).exists() for each in NEEDED),
        reason=f"the corpora are not in {DATA}",
    ),
    # Thirteen systems are trained; a busy machine takes its time.
    pytest.mark.timeout(1200),
]


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Runner(DATA, tmp_path_factory.mktemp("models"), quick=True)


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_gives_a_page_with_tables_and_findings_from_figures(
    bench, tmp_path, name
):
    report = EXPERIMENTS[name](bench)
    page = write_report(report, tmp_path)

    assert name == report.experiment
    assert all(each.rows for each in report.tables if "taken" not in each.title)
    for table in report.tables:
        assert {len(table.columns)} >= {len(row) for row in table.rows}
    for finding in report.findings:
        assert finding.holds in (True, False, None)
        assert any(map(str.isdigit, finding.figures)) or finding.holds is None
    assert any("quick" in line for line in report.set_up)
    assert len(orjson.loads((page.parent / "report.json").read_bytes())["findings"])
    assert len([*page.parent.glob("*.png")]) == len(report.plots)
