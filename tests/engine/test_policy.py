"""Policies as they may be given, and what the agent's data policy forbids."""

from __future__ import annotations

import pytest

from rotifer_engine import AccessPolicy, DataPolicy, InvalidInput, RetentionPolicy

ACCESS = {"readScope": "ALL_GENES", "writeScope": "CREATOR_GENE_ONLY", "sharePolicy": "PRIVATE"}
RETENTION = {
    "maxRetentionDays": 30,
    "autoDeleteOnTermination": True,
    "anonymizationSupported": False,
}


def test_policies_keep_their_json():
    """What is parsed prints the same, in the documented order."""
    assert list(ACCESS.items()) == list(AccessPolicy.parse(ACCESS).to_json().items())
    assert list(RETENTION.items()) == list(RetentionPolicy.parse(RETENTION).to_json().items())


def test_a_policy_made_by_hand_is_checked_too():
    """A tuple with an unknown word is refused like its JSON."""
    assert AccessPolicy.parse(AccessPolicy("ALL_GENES", "ALL_GENES", "PRIVATE")).read_scope
    assert RetentionPolicy.parse(RetentionPolicy(None, True, False)).auto_delete_on_termination
    with pytest.raises(InvalidInput, match=r"accessPolicy\.readScope must be one of"):
        AccessPolicy.parse(AccessPolicy("EVERYONE", "ALL_GENES", "PRIVATE"))
    with pytest.raises(InvalidInput, match=r"retentionPolicy\.maxRetentionDays is 0"):
        RetentionPolicy.parse(RetentionPolicy(0, True, False))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"readScope": "all_genes"}, "accessPolicy.readScope must be one of CREATOR_GENE_ONLY"),
        ({"writeScope": None}, "accessPolicy.writeScope must be one of"),
        ({"sharePolicy": "PUBLIC"}, "accessPolicy.sharePolicy must be one of PRIVATE"),
        ({"owner": "me"}, "accessPolicy has an unknown field 'owner'"),
    ],
)
def test_access_policies_have_known_words(change, message):
    """An unknown word or field is named."""
    with pytest.raises(InvalidInput, match=message):
        AccessPolicy.parse({**ACCESS, **change})


@pytest.mark.parametrize("missing", ACCESS)
def test_there_is_no_partial_access_policy(missing):
    """All three fields must be there."""
    with pytest.raises(InvalidInput, match=f"accessPolicy has no field {missing}"):
        AccessPolicy.parse({name: word for name, word in ACCESS.items() if name != missing})


@pytest.mark.parametrize("missing", RETENTION)
def test_there_is_no_partial_retention_policy(missing):
    """All three fields must be there."""
    with pytest.raises(InvalidInput, match=f"retentionPolicy has no field {missing}"):
        RetentionPolicy.parse({name: word for name, word in RETENTION.items() if name != missing})


@pytest.mark.parametrize(
    "change",
    [
        {"maxRetentionDays": 0},
        {"maxRetentionDays": -1},
        {"maxRetentionDays": 2_147_483_648},
        {"maxRetentionDays": 1.5},
        {"maxRetentionDays": True},
        {"maxRetentionDays": "30"},
        {"autoDeleteOnTermination": None},
        {"autoDeleteOnTermination": 0},
        {"anonymizationSupported": "false"},
        {"more": 1},
    ],
)
def test_retention_policies_have_exact_types(change):
    """A field of the wrong type or range is refused; a boolean is no number, nor the reverse."""
    with pytest.raises(InvalidInput, match="retentionPolicy"):
        RetentionPolicy.parse({**RETENTION, **change})


@pytest.mark.parametrize("days", [1, 2_147_483_647, None, 30.0])
def test_days_in_range(days):
    """1 to 2147483647 days, or null for no limit."""
    expected = None if days is None else int(days)

    assert expected == RetentionPolicy.parse({**RETENTION, "maxRetentionDays": days})[0]


@pytest.mark.parametrize("value", [None, [], "PRIVATE", 1])
def test_a_policy_is_an_object(value):
    """Null is no access policy, and a word is no policy."""
    with pytest.raises(InvalidInput, match="accessPolicy must be an object"):
        AccessPolicy.parse(value)
    with pytest.raises(InvalidInput, match="dataPolicy must be an object"):
        DataPolicy.parse(value, "dataPolicy")
