"""The demo: an invented ward of patients and messages, and the services that it feeds.

The ward is drawn from a seed; no person in it exists.  Patients, kin and staff come
from `deid_core.fiction`, templates from the TOML files of this folder.  The demo's own
broker needs the extra ``broker``.
"""
