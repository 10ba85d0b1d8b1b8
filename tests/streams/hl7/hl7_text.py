"""Invented HL7 v2 messages for the tests of intake's decoding."""

MSH = "MSH|^~\\&|APP|HOSP|||20240301093000||{event}|C1|P|2.5.1"
PID = "PID|1||4711^^^WARD^MR||Example^Edith^Q||19480229|F"


def message(*segments, event="ORU^R01", msh=MSH):
    """Return a message's bytes; PID is the usual one unless a segment is a PID."""
    named = any(each.startswith("PID") for each in segments)
    rest = segments if named else (PID, *segments)
    return "\r".join((msh.format(event=event), *rest)).encode()
