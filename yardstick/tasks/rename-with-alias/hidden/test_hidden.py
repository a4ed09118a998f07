import warnings

import pytest


def test_the_new_name_is_used_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from net.client import Connection
        from net.pool import connect_all

        [one] = connect_all(["a"])
        assert type(one) is Connection and repr(one) == "Connection(a:80)"


def test_the_old_name_warns_and_is_the_same_class():
    import net.client

    with pytest.warns(DeprecationWarning):
        old = net.client.Conn
    assert old is net.client.Connection


def test_other_names_are_still_missing():
    import net.client

    with pytest.raises(AttributeError):
        net.client.Nothing
