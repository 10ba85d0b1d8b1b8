"""The Spanish model that is shipped, on invented lines."""

import pytest

from deid_core.tagger.compiled import CompiledModel
from deid_core.tagger.model_files import load_model

MAIL, PHONE, FAX = "CORREO_ELECTRONICO", "NUMERO_TELEFONO", "NUMERO_FAX"
AGE, DATE = "EDAD_SUJETO_ASISTENCIA", "FECHAS"


@pytest.fixture(scope="module")
def model():
    return CompiledModel.of(load_model("meddocan"))


@pytest.mark.parametrize(
    ("text", "tag", "values"),
    [
        ("E-mail: aprat@usal.es olmo9@ya.com", MAIL, ["aprat@usal.es", "olmo9@ya.com"]),
        ("E-mail: aprat@ya.es / b@ya.es", MAIL, ["aprat@ya.es", "b@ya.es"]),
        ("Correo electrónico: a.b.prat@usal.es", MAIL, ["a.b.prat@usal.es"]),
        ("Tfno.: 915 550 122, fax 915 550 123", PHONE, ["915 550 122"]),
        ("Tfno.: 915 550 122, fax 915 550 123", FAX, ["915 550 123"]),
        ("Tfno: 956203145 / 956203146", PHONE, ["956203145", "956203146"]),
        ("Niña de dos años y diez meses con fiebre.", AGE, ["dos años y diez meses"]),
        ("Lactante de 1 mes y 12 días.", AGE, ["1 mes y 12 días"]),
        ("En noviembre 06 acude de urgencia.", DATE, ["noviembre 06"]),
    ],
)
def test_a_line_holds_these_values_of_a_tag(model, text, tag, values):
    lead = "Remitido por: Dr. Luis Prat Olmo. Calle del Río 5, 28001 Madrid. "
    line = lead + text if tag in (PHONE, FAX) else text
    [found] = model.tag([line])
    assert [line[e.start : e.end] for e in found if e.tag == tag] == values
