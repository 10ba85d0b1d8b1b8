"""A model's folder, the detector that reads it, and the preset that names it."""

import json
import shutil
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest

from deid_core import ConfigError, Document, Label
from deid_core.config import load_preset
from deid_core.detectors.tagger import TaggerDetector, TaggerOptions
from deid_core.merge import merge
from deid_core.research.training.encoding import Line
from deid_core.research.training.learners import CrfOptions
from deid_core.research.training.learners.crf import learn
from deid_core.research.training.weights import mean_of
from deid_core.runtime import prepared
from deid_core.tagger import digests, model_files
from deid_core.tagger.compiled import CompiledModel
from deid_core.tagger.digests import MODELS, contents, digest_of, renew
from deid_core.tagger.kernels import first_sight
from deid_core.tagger.kernels.tables import add_conjunctions
from deid_core.tagger.kernels.words import number_words
from deid_core.tagger.model import Weights
from deid_core.tagger.model_files import (
    known_models,
    load_model,
    load_tables,
    save_model,
)
from streams.cli.app import main
from tests.deid_core.tagger.tagger_cases import (
    CODEC,
    encoded,
    invented_lines,
    invented_text,
    model_of,
)

NOTE = "Nombre: Omar Olmo.\nDomicilio: Calle Prat 3, Madrid."


@pytest.fixture(scope="module")
def model():
    corpus = encoded(invented_lines(200))
    return model_of(corpus, learn(corpus, CODEC, CrfOptions(epochs=4), seed=1), 0.05)


@pytest.fixture(scope="module", autouse=True)
def kept(tmp_path_factory):
    """Return where tables are kept meanwhile, away from those of this machine."""
    place = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepared, "_folders", lambda: iter([place]))
        yield place


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "tiny"
    save_model(model, folder)
    return folder


def test_a_model_tags_alike_after_it_was_written_and_read(model, folder):
    texts = [invented_text(20, seed) for seed in range(5)]
    in_memory = CompiledModel.of(load_model(str(folder)))
    made, mapped = (CompiledModel(load_tables(str(folder))) for _ in "ab")
    found = in_memory.tag(texts)
    assert made.tag(texts) == mapped.tag(texts) == found
    spans = [
        [[(e.start, e.end, e.tag) for e in each] for each in some]
        for some in (found, CompiledModel.of(model).tag(texts))
    ]
    assert spans[0] == spans[1]


def test_the_tables_of_a_model_are_made_once(folder, kept, monkeypatch):
    load_tables(str(folder))
    entries = [*kept.iterdir()]
    monkeypatch.setattr(model_files, "expanded", None)
    assert load_tables(str(folder)).features.columns
    assert entries == [*kept.iterdir()]


def test_tables_in_memory_and_those_of_files_are_of_one_kind(model, folder):
    for compiled in (
        CompiledModel.of(model),
        *(CompiledModel(load_tables(str(folder))) for _ in "ab"),
    ):
        compiled.tag([NOTE])
    for kernel in (first_sight.learn, add_conjunctions, number_words):
        assert len(kernel.signatures) == 1


def test_the_same_model_makes_the_same_files(model, folder, tmp_path):
    save_model(model, tmp_path)
    for file in folder.iterdir():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes()


@pytest.fixture
def copy(folder, tmp_path):
    (folder / "README.md").write_text("The card.")
    renew(folder)
    return Path(shutil.copytree(folder, tmp_path / "copy"))


@pytest.mark.parametrize(
    ("load", "name"),
    [
        *product([load_model, load_tables], ["model.json", "tables.npz", "README.md"]),
        (load_model, "weights.npz"),
    ],
)
def test_a_model_of_which_a_bit_was_changed_is_refused(copy, load, name):
    load(str(copy))
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(content)

    with pytest.raises(ConfigError, match="digest is another"):
        load(str(copy))


@pytest.mark.parametrize("load", [load_model, load_tables])
def test_a_model_with_a_file_more_or_less_is_refused(copy, load):
    (copy / "more").touch()
    with pytest.raises(ConfigError, match="digest is another"):
        load(str(copy))

    (copy / "more").unlink()
    (copy / "tables.npz").unlink()
    with pytest.raises(ConfigError, match="digest is another"):
        load(str(copy))


def test_a_model_tags_without_the_weights_that_training_left(copy):
    (copy / "weights.npz").unlink()

    assert CompiledModel(load_tables(str(copy))).tag([NOTE])
    with pytest.raises(ConfigError, match="leaves it out"):
        load_model(str(copy))


def test_a_model_without_a_digest_is_refused_with_the_command_that_writes_it(copy):
    (copy / "sha256").unlink()

    with pytest.raises(ConfigError, match=f"{digests.RENEW} {copy}"):
        load_tables(str(copy))

    digests.main([str(copy)])
    assert load_tables(str(copy)).name == "tiny"


def test_the_digest_of_a_preset_counts_before_that_in_the_folder(copy):
    name = str(copy)
    right = (copy / "sha256").read_text().strip()
    (copy / "sha256").write_text("0" * 64)
    TaggerDetector(TaggerOptions(model=name, digests={name: right}))
    renew(copy)

    with pytest.raises(ConfigError, match="digest is another"):
        TaggerDetector(TaggerOptions(model=name, digests={name: "0" * 64}))
    with pytest.raises(ConfigError, match="digests: model 'other'"):
        TaggerDetector(TaggerOptions(model=name, digests={"other": right}))


def test_a_command_with_a_changed_model_ends_with_78(copy, monkeypatch, capsys):
    (copy / "README.md").write_text("Another card.")
    preset = copy.parent / "own.toml"
    preset.write_text(
        f'name = "own"\nsummary = "s"\ndetectors = ["tagger"]\n'
        f'[tagger]\nmodel = "{copy}"\n'
    )
    (copy.parent / "note.txt").write_text("A note.")
    command = ["scrub", "--preset", str(preset), str(copy.parent / "note.txt")]
    monkeypatch.setattr(sys, "argv", ["phistream", *command])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 78
    assert "digest is another" in capsys.readouterr().err


def test_parts_of_two_models_are_refused(copy, model, tmp_path):
    values = model.weights.values + 1
    save_model(replace(model, weights=replace(model.weights, values=values)), tmp_path)
    for name in ("weights.npz", "tables.npz"):
        shutil.copy(tmp_path / name, copy)
    renew(copy)

    with pytest.raises(ConfigError, match=r"another model than model\.json"):
        load_tables(str(copy))


def test_the_digests_of_the_package_are_those_of_its_models():
    """After a change of a model: python -m deid_core.tagger.digests."""
    found = {name: digest_of(contents(MODELS / name)) for name in known_models()}

    assert json.loads((MODELS / "digests.json").read_text()) == found, digests.RENEW


@pytest.mark.parametrize("lock", ['{"gone": "0"}', "<<<<<<< damaged"])
def test_a_model_of_the_package_is_saved_with_its_digest(
    model, tmp_path, monkeypatch, lock
):
    (tmp_path / "digests.json").write_text(lock)
    monkeypatch.setattr(digests, "MODELS", tmp_path)
    save_model(model, tmp_path / "tiny")

    [(name, digest)] = json.loads((tmp_path / "digests.json").read_text()).items()
    assert (name, digest) == ("tiny", digest_of(contents(tmp_path / "tiny")))
    assert not (tmp_path / "tiny" / "sha256").exists()


@pytest.mark.parametrize("load", [load_model, load_tables])
def test_a_folder_of_another_format_is_refused(copy, load):
    about = (copy / "model.json").read_text().replace('"format": 2', '"format": 99')
    (copy / "model.json").write_text(about)
    renew(copy)
    with pytest.raises(ConfigError, match="format 2"):
        load(str(copy))


@pytest.mark.parametrize("load", [load_model, load_tables])
@pytest.mark.parametrize("missing", ["sha256", "tags", "features", "language"])
def test_a_description_without_a_part_is_refused(copy, load, missing):
    about = json.loads((copy / "model.json").read_text())
    del about[missing]
    (copy / "model.json").write_text(json.dumps(about))
    renew(copy)
    with pytest.raises(ConfigError, match="KeyError; train it again"):
        load(str(copy))


def test_an_unknown_model_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match="meddocan"):
        load_model("medocan")


def test_every_model_that_is_shipped_is_small_whole_and_has_a_card():
    from importlib.resources import files

    for name in known_models():
        place = files("deid_core.tagger") / "models" / name
        assert load_model(name).tags
        size = sum(map(len, contents(place).values()))
        assert size <= 7_500_000
        card = (place / "README.md").read_text("utf-8")
        assert all(word in card for word in ("Licence", "Corpora", "Figures", "Limits"))


def test_the_mean_of_weights_counts_what_one_lacks_as_nothing(model):
    weights = model.weights
    less = Weights(
        weights.names[:1],
        weights.pointers[:2],
        weights.labels[: weights.pointers[1]],
        weights.values[: weights.pointers[1]],
        weights.transitions,
    )
    mean = mean_of([weights, less])
    dense, found = weights.dense(), dict(zip(mean.names, mean.dense(), strict=True))
    assert found[weights.names[0]] == pytest.approx(dense[0])
    assert found[weights.names[1]] == pytest.approx(dense[1] / 2)


def _found(folder, text=NOTE, **options):
    detector = TaggerDetector(TaggerOptions(model=str(folder), **options))
    [found] = detector([Document("1", text)])
    return found


def test_an_annotation_bears_label_tag_model_and_probability(folder):
    name, street = _found(folder)
    assert (name.label, name.tag) == (Label.PATIENT, "NAME")
    assert name.source == "tagger/tiny/name"
    assert NOTE[street.span.start : street.span.end] == "Calle Prat 3"
    assert 0.5 < street.score <= 1


def test_a_tag_that_is_our_label_is_not_said_twice(folder):
    [date] = _found(folder, "Fecha: 3/4/1988.")
    assert (date.label, date.tag) == (Label.DATE, "")


def test_what_the_model_is_less_sure_of_than_the_threshold_is_not_proposed(folder):
    scores = sorted(each.score for each in _found(folder))
    assert len(_found(folder, threshold=(scores[0] + scores[1]) / 2)) == 1


def test_a_tag_outlives_merging(folder):
    found = _found(folder)
    wider = found[0].__class__(found[0].span, Label.DOCTOR, 0.1, "rules", "x")
    assert [each.tag for each in merge([*found, wider])] == ["NAME", "STREET"]


def test_a_note_of_one_case_is_read_by_the_model_of_small_letters(folder, tmp_path):
    small = tmp_path / "small"
    lines = [Line(line.text.lower(), line.spans) for line in invented_lines(200)]
    corpus = encoded(lines)
    weights = learn(corpus, CODEC, CrfOptions(epochs=4), seed=1)
    save_model(replace(model_of(corpus, weights, 0.05), name="small"), small)

    def models(text):
        found = _found(folder, text, one_case_model=str(small))
        return {each.rule.split("/")[0] for each in found}

    assert models(NOTE) == {"tiny"}
    assert models(NOTE.upper()) == {"small"}
    assert models(NOTE.lower()) == {"small"}


def test_a_batch_of_both_letter_cases_is_read_note_by_note(folder, tmp_path):
    detector = TaggerDetector(
        TaggerOptions(model=str(folder), one_case_model=str(folder), prose_bias=-1.0)
    )
    documents = [
        Document(str(at), text)
        for at, text in enumerate([NOTE, NOTE.upper(), "", NOTE.lower(), NOTE])
    ]

    assert detector(documents) == [detector([each])[0] for each in documents]


def test_a_preset_refuses_a_tagger_without_model(tmp_path):
    preset = tmp_path / "own.toml"
    preset.write_text('name = "own"\ndetectors = ["tagger"]\n[tagger]\n')
    with pytest.raises(ConfigError, match="model"):
        load_preset(str(preset))


SPANISH = "Nombre: Zoilo.\nEdad: 70 años Sexo: H.\nLocalidad/ Provincia: Teruel."


def tags_of(preset):
    from deid_core import Deidentifier

    system = Deidentifier.from_names(preset=preset)
    found = system.deidentify(Document("1", SPANISH))
    return {each.tag for each in found.annotations}


def test_the_preset_of_the_task_speaks_all_of_meddocans_tags():
    assert tags_of("meddocan-task") == {
        "NOMBRE_SUJETO_ASISTENCIA",
        "EDAD_SUJETO_ASISTENCIA",
        "SEXO_SUJETO_ASISTENCIA",
        "TERRITORIO",
    }


def test_the_meddocan_preset_lets_the_sex_stand():
    assert tags_of("meddocan-task") - tags_of("meddocan") == {"SEXO_SUJETO_ASISTENCIA"}


def test_only_words_for_a_sex_stand_not_all_that_the_model_takes_for_one():
    few = TaggerOptions(
        model="meddocan", left_out={"SEXO_SUJETO_ASISTENCIA": ["mujer"]}
    )

    [found] = TaggerDetector(few)([Document("1", SPANISH)])

    assert "SEXO_SUJETO_ASISTENCIA" in {each.tag for each in found}


def test_a_tag_that_the_model_does_not_have_cannot_be_left_out():
    with pytest.raises(ConfigError, match="left_out: tag 'SEX' is unknown; known: "):
        TaggerDetector(TaggerOptions(model="meddocan", left_out={"SEX": ["m"]}))


@pytest.mark.parametrize("seed", range(3))
def test_no_note_makes_the_tagger_fail(folder, seed):
    chance = Random(seed)
    text = "".join(chr(chance.randrange(1, 0xD800)) for _ in range(2000))
    found = _found(folder, text + "\n" + "\n".join(text[:50]))
    assert all(np.isfinite(each.score) for each in found)
