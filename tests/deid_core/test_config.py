import pytest

from deid_core import ConfigError, Deidentifier, config
from deid_core.config import known_presets, load_preset
from deid_core.detectors import detector_names, detector_spec


@pytest.fixture
def toml(tmp_path):
    def write(text):
        path = tmp_path / "own.toml"
        path.write_text(text, "utf-8")
        return str(path)

    return write


@pytest.mark.parametrize("name", known_presets())
def test_every_preset_that_comes_along_loads(name):
    assert name == load_preset(name).name


def test_hybrid_is_what_the_product_runs():
    preset = load_preset("hybrid")

    assert preset.detectors == ("rules", "lexicon", "tagger", "known")
    assert preset.options["known"].threshold == 0.33


def test_names_build_the_whole_system():
    assert isinstance(Deidentifier.from_names("hybrid", "safe-harbor"), Deidentifier)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match=r"'hybird' is unknown; known: .*hybrid"):
        load_preset("hybird")


@pytest.mark.parametrize(
    ("text", "languages", "others"),
    [
        ("", ("en",), "refuse"),
        ('languages=["de", "en"]\nother_languages="mark"', ("de", "en"), "mark"),
        ("languages=[]", (), "refuse"),
    ],
)
def test_a_preset_says_which_languages_it_reads(toml, text, languages, others):
    preset = load_preset(toml(f'name="own"\n{text}\ndetectors=["known"]'))

    assert (languages, others) == (preset.languages, preset.other_languages)


def test_a_file_can_stand_for_a_preset(toml):
    preset = load_preset(toml('name="own"\ndetectors=["known"]\n[known]\nthreshold=0'))

    assert (
        preset.name,
        preset.detectors,
        preset.options["known"].threshold,
    ) == ("own", ("known",), 0.0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('name="a"', "detectors must be a list"),
        ('name="a"\ndetectors=[]', "detectors must be a list"),
        ('detectors=["known"]', "name must be a text"),
        ('name="a"\ndetectors=["rulez"]', "detector 'rulez' is unknown; known: rules"),
        ('name="a"\ndetectors=[1]', "detector 1 is unknown"),
        ('name="a"\ndetectors=["known", "known"]', "names one twice"),
        ('name="a"\ndetector=["known"]', "key 'detector' is unknown; known: name, "),
        ('name="a"\ndetectors=["rules"]\n[known]\n', "detectors does not name it"),
        ('name="a"\ndetectors=["known"]\nknown=3', "known must be a table"),
        ('name="a"\nlanguages="en"\ndetectors=["known"]', "languages must be a list"),
        (
            'name="a"\nlanguages=["english"]\ndetectors=["known"]',
            "language 'english' is unknown; known: .*de, .*en, ",
        ),
        (
            'name="a"\nother_languages="keep"\ndetectors=["known"]',
            "other_languages 'keep' is unknown; known: refuse, mark",
        ),
        (
            'name="a"\ndetectors=["known"]\n[known]\nthreshhold=1',
            "'threshhold' is unknown; known: threshold",
        ),
        (
            'name="a"\ndetectors=["known"]\n[known]\nthreshold="x"',
            "known.threshold: .*valid number",
        ),
        (
            'name="a"\ndetectors=["known"]\n[known]\nthreshold=true',
            "known.threshold: .*valid number",
        ),
        (
            'name="a"\ndetectors=["known"]\n[known]\nthreshold=2',
            "known.threshold: .*less than",
        ),
        ("name=", "not TOML"),
    ],
)
def test_a_wrong_preset_is_refused_by_key(toml, text, says):
    with pytest.raises(ConfigError, match=says):
        load_preset(toml(text))


def test_a_preset_like_another_has_all_but_what_it_sets(toml):
    hybrid = load_preset("hybrid")
    own = load_preset(toml('name="own"\nlike="hybrid"\n[tagger]\noutside_bias=7.5'))

    assert (own.name, own.summary) == ("own", "")
    assert hybrid.detectors == own.detectors
    assert hybrid.options["known"] == own.options["known"]
    changed = hybrid.options["tagger"].model_dump() | {"outside_bias": 7.5}
    assert changed == own.options["tagger"].model_dump()


def test_a_preset_like_another_may_leave_out_a_detector_and_turn_switches(toml):
    own = load_preset(
        toml('name="own"\nlike="hybrid"\ndetectors=["rules","known"]\nrecasing=false')
    )

    assert own.detectors == ("rules", "known")
    assert own.options.keys() == {"known"}
    assert (own.recasing, own.consistency) == (False, True)


def test_hybrid_recall_differs_from_hybrid_in_how_sure_the_tagger_is_alone():
    hybrid, recall = load_preset("hybrid"), load_preset("hybrid-recall")
    tagger, raised = hybrid.options["tagger"], recall.options["tagger"]

    assert hybrid.detectors == recall.detectors
    assert recall.options == {**hybrid.options, "tagger": raised}
    moved = {"outside_bias", "one_case_bias", "prose_bias", "threshold"}
    assert tagger.model_dump(exclude=moved) == raised.model_dump(exclude=moved)
    assert raised.outside_bias > tagger.outside_bias
    assert raised.one_case_bias > tagger.one_case_bias
    assert raised.threshold <= tagger.threshold
    assert (hybrid.quiet.threshold, recall.quiet.threshold) == (0.9, 0.0)


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Presets of these names, as another package installs them."""

    def install(**texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.toml").write_text(text, "utf-8")
        folders = config._folders()
        monkeypatch.setattr(config, "_folders", lambda: [*folders, tmp_path])

    return install


def test_lists_of_a_preset_that_another_is_like_stay_beside_its_own_file(
    installed, toml, tmp_path
):
    installed(base='name="base"\nlike="lexical"\n[terms]\nkeep=["base.txt"]')
    own = toml('name="own"\nlike="base"\n[terms]\nkeep=["own.txt"]')

    kept = load_preset(own).terms.keep
    assert kept == (str(tmp_path / "base.txt"), str(tmp_path / "own.txt"))
    assert load_preset("lexical").detectors == load_preset(own).detectors


def test_presets_that_are_like_each_other_are_refused(installed):
    installed(one='name="one"\nlike="two"', two='name="two"\nlike="one"')

    with pytest.raises(ConfigError, match="preset 'two': like 'one', which is like it"):
        load_preset("one")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('like="hybird"', "preset 'hybird' is unknown; known: .*hybrid"),
        ("like=1", "like must be the name of a preset"),
        ('like="../hybrid.toml"', "like must be the name of a preset"),
        ('like="lexical"\n[tagger]', "detectors does not name it"),
        ('like="hybrid"\n[tagger]\noutside_bais=1', "'outside_bais' is unknown"),
    ],
)
def test_a_wrong_variation_is_refused_by_key(toml, text, says):
    with pytest.raises(ConfigError, match=says):
        load_preset(toml(f'name="own"\n{text}'))


def test_a_missing_file_is_a_config_error(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        load_preset(str(tmp_path / "none.toml"))


def test_every_detector_bears_the_name_it_is_configured_by():
    """
    Those that need a trained model are asked by the tests of their models.
    """
    specs = {name: detector_spec(name) for name in detector_names()}
    optional = {
        name: spec
        for name, spec in specs.items()
        if not any(each.is_required() for each in spec.options.model_fields.values())
    }
    built = [spec.make(spec.options()) for spec in optional.values()]

    assert {"rules", "lexicon", "known", "nus"} <= optional.keys()
    assert list(optional) == [detector.name for detector in built]


def test_a_preset_says_whether_letter_case_and_consistency_are_the_systems_own():
    theirs, ours = load_preset("nus"), load_preset("hybrid")
    assert (theirs.recasing, theirs.consistency) == (False, False)
    assert (ours.recasing, ours.consistency) == (True, True)


def test_a_switch_that_is_no_truth_value_is_refused(tmp_path):
    preset = tmp_path / "own.toml"
    preset.write_text('name = "own"\ndetectors = ["rules"]\nconsistency = "no"\n')
    with pytest.raises(ConfigError, match="consistency must be true or false"):
        load_preset(str(preset))
