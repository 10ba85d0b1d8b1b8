from deid_core.labels import SAFE_HARBOR, Label


def test_every_label_has_its_safe_harbor_identifier():
    assert set(Label) == set(SAFE_HARBOR)
    assert set(SAFE_HARBOR.values()) <= set("ABCDEFGHIJKLMNOPQR")


def test_main_category_is_what_stands_before_the_colon():
    assert Label.PATIENT.main == "NAME"
    assert Label.DATE.main == "DATE"


def test_labels_are_the_seven_main_categories_of_i2b2():
    expected = {"NAME", "PROFESSION", "LOCATION", "AGE", "DATE", "CONTACT", "ID"}

    assert expected == {label.main for label in Label}
