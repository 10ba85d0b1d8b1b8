"""An example of every label, in «guillemets», with its letter in Safe Harbor."""

from deid_core.labels import Label

EXAMPLES = {
    Label.PATIENT: ("Mrs. «Rostova» was seen.", "A"),
    Label.DOCTOR: ("Seen by Dr. «Rostova».", "A"),
    Label.USERNAME: ("Username: «arostova»", "R"),
    Label.PROFESSION: ("He works as a «truck driver».", "R"),
    Label.HOSPITAL: ("Treated at «Cedar Crest Hospital».", "B"),
    Label.ORGANIZATION: ("He is employed by «Boeing».", "B"),
    Label.STREET: ("Lives at «12 Oak Street».", "B"),
    Label.CITY: ("Lives in «Springfield», IL 62704.", "B"),
    Label.STATE: ("Springfield, «IL» 62704.", "B"),
    Label.COUNTRY: ("She is originally from «Kenya».", "B"),
    Label.ZIP: ("Springfield, IL «62704».", "B"),
    Label.LOCATION_OTHER: ("Found in «Cook County».", "B"),
    Label.AGE: ("A «92»-year-old.", "C"),
    Label.DATE: ("Seen on «3/14/2024».", "C"),
    Label.PHONE: ("Call «212-555-0142».", "D"),
    Label.FAX: ("Fax: «212-555-0143».", "E"),
    Label.EMAIL: ("Write «ana@example.org».", "F"),
    Label.SSN: ("SSN «219-09-9999».", "G"),
    Label.MEDICALRECORD: ("MRN: «00123456».", "H"),
    Label.HEALTHPLAN: ("Member ID: «XYZ123456789».", "I"),
    Label.ACCOUNT: ("Account number «44556677».", "J"),
    Label.LICENSE: ("Driver's license «D1234567».", "K"),
    Label.VEHICLE: ("License plate «ABC-1234».", "L"),
    Label.DEVICE: ("Serial number «PMK-77120A».", "M"),
    Label.URL: ("See «https://example.org/ana».", "N"),
    Label.IPADDR: ("From «192.0.2.17».", "O"),
    Label.BIOID: ("Fingerprint ID «FP-123456».", "P"),
    Label.IDNUM: ("Accession no. «S24-12345».", "R"),
}
