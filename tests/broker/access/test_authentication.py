"""Authentication of greetings: passwords, tokens, certificates, and claims that are denied."""

from __future__ import annotations

from math import inf
from pathlib import Path

import argon2
import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.broker.access import passwords
from sapwood.broker.access.authentication import DECOY, Admitted, Authenticator
from sapwood.broker.access.identities import Identities, Principal, read_identities, token_digest
from sapwood.broker.access.tokens import LEEWAY_S, Issuer
from sapwood.errors import InputError
from sapwood.session.admission import Refused
from sapwood.wire.greetings import Credentials, Hello, RefusalCode, Role
from tests.broker.access.tokens import ISSUER, Signer

SIGNER = Signer()
HASH = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash("secret")

ANN = Principal("ann", Role.CLIENT, HASH)
FEED = Principal("feed", Role.CLIENT, token=token_digest("a token"))
NORTH = Principal("north", Role.BROKER, certificates=("north.example.org",))
KNOWN = Identities(
    {one.name: one for one in (ANN, FEED, NORTH)},
    {token_digest("a token"): FEED},
    {"north.example.org": NORTH},
    {ISSUER: Issuer(ISSUER, SIGNER.public(), "sapwood")},
)
NOW = 1_000_000.0


def hello(name: str, user: str = "", secret: str | None = None, role: Role = Role.CLIENT) -> Hello:
    shown = None if secret is None else Credentials(user, secret)
    return Hello(role=role, name=name, session="s", credentials=shown)


def decided(greeting: Hello, *certified: str, now: float = NOW) -> Admitted | Refused:
    return Authenticator(KNOWN).decide(greeting, set(certified), now)


def name(of: Admitted | Refused) -> str:
    assert isinstance(of, Admitted), of
    return of.name


def denial(of: Admitted | Refused) -> str:
    assert isinstance(of, Refused), of
    assert of.code is RefusalCode.DENIED
    return of.reason


def test_a_password_a_token_and_a_certificate_each_show_who_it_is() -> None:
    assert name(decided(hello("desk", "ann", "secret"))) == "ann/desk"
    assert name(decided(hello("ticker", "", "a token"))) == "feed/ticker"
    link = hello("north", role=Role.BROKER)
    assert decided(link, "else", "north.example.org") == Admitted(NORTH, "north", None, inf)


@pytest.mark.parametrize(
    "greeting",
    [
        hello("desk"),
        hello("desk", "ann", "Secret"),
        hello("desk", "nobody", "secret"),
        hello("desk", "feed", "a token"),  # known by a token, which is no password
        hello("desk", "", "secret"),
        hello("desk", "", ""),
        hello("desk", "", HASH),
        hello("desk", "ann", HASH),
        hello("desk", "", "ey.no.token"),
    ],
)
def test_what_shows_nobody_is_denied(greeting: Hello) -> None:
    denial(decided(greeting))


def test_a_wrong_user_and_a_wrong_password_are_denied_in_the_same_words() -> None:
    unknown = denial(decided(hello("desk", "nobody", "secret")))
    assert unknown == denial(decided(hello("desk", "ann", "wrong")))


def test_an_unknown_user_costs_a_hash_like_a_known_one() -> None:
    """Planted: a decoy that is no hash at all is refused at once, and tells who there is."""
    with pytest.raises(argon2.exceptions.VerifyMismatchError):
        argon2.PasswordHasher().verify(DECOY, "secret")
    assert Authenticator(KNOWN).is_slow(hello("desk", "nobody", "secret"))


def test_a_password_that_was_right_once_is_not_hashed_again() -> None:
    known = Authenticator(KNOWN)
    greeting = hello("desk", "ann", "secret")
    assert known.is_slow(greeting)
    name(known.decide(greeting, set(), NOW))
    assert not known.is_slow(greeting)
    assert known.is_slow(hello("desk", "ann", "wrong"))
    denial(known.decide(hello("desk", "ann", "wrong"), set(), NOW))


def test_a_client_can_never_pretend_to_be_a_broker() -> None:
    reason = denial(decided(hello("ann", "ann", "secret", Role.BROKER)))
    assert "may not connect as a broker" in reason


def test_a_broker_links_under_its_own_name_only() -> None:
    reason = denial(decided(hello("south", role=Role.BROKER), "north.example.org"))
    assert "--name north" in reason
    assert "client" in denial(decided(hello("north"), "north.example.org"))


NAMES = st.text(st.sampled_from("anfed/"), min_size=1, max_size=6)


@given(NAMES, NAMES)
def test_no_identity_can_take_a_name_of_another(one: str, other: str) -> None:
    by_password = name(decided(hello(one, "ann", "secret")))
    by_token = name(decided(hello(other, "", "a token")))
    assert by_password != by_token
    assert by_password.split("/")[0] == "ann"


def test_a_signed_token_speaks_for_a_client_until_it_expires() -> None:
    token = SIGNER.token(NOW + 60)
    admitted = decided(hello("desk", "", token))
    assert name(admitted) == "eve/desk"
    assert isinstance(admitted, Admitted)
    authenticator = Authenticator(KNOWN)
    assert authenticator.holds(admitted, NOW + 60 + LEEWAY_S)
    assert not authenticator.holds(admitted, NOW + 60 + LEEWAY_S + 1)
    late = denial(decided(hello("desk", "", token), now=NOW + 60 + LEEWAY_S + 1))
    assert late == "the token has expired"


def test_a_signed_token_is_worth_nothing_where_anything_in_it_is_wrong() -> None:
    until = NOW + 60
    wrong = (
        Signer().token(until),  # another key
        SIGNER.token(until, iss="https://else.example.org"),
        SIGNER.token(until, aud="another service"),
        SIGNER.token(until, sub=None),
        SIGNER.token(until, exp=None),
        SIGNER.token(until, exp="tomorrow"),
        SIGNER.token(until, nbf=NOW + LEEWAY_S + 1),
        SIGNER.token(until, sub="ann"),  # who is an identity here
        SIGNER.token(until, sub="ann/desk"),
        SIGNER.token(until, sub=""),
        SIGNER.token(until)[:-4] + "AAAA",
        jwt.encode({"iss": ISSUER, "aud": "sapwood", "sub": "eve", "exp": until}, "", "none"),
        jwt.encode(
            {"iss": ISSUER, "aud": "sapwood", "sub": "eve", "exp": until}, "k" * 32, "HS256"
        ),
    )
    for token in wrong:
        denial(decided(hello("desk", "", token)))
    assert "may not connect as a broker" in denial(
        decided(hello("eve", "", SIGNER.token(until), Role.BROKER))
    )


def test_who_is_taken_from_the_file_or_changed_there_holds_no_longer() -> None:
    authenticator = Authenticator(KNOWN)
    for greeting in (hello("d", "ann", "secret"), hello("d", "", SIGNER.token(NOW + 60))):
        admitted = authenticator.decide(greeting, set(), NOW)
        assert isinstance(admitted, Admitted)
        assert authenticator.holds(admitted, NOW)
        other = Principal("ann", Role.CLIENT, HASH + "2")
        for changed in (Identities(), Identities({"ann": other, "eve": FEED}, {}, {}, {})):
            authenticator.identities = changed
            assert not authenticator.holds(admitted, NOW)
        authenticator.identities = KNOWN


# The file --------------------------------------------------------------------------------------


def written(folder: Path, text: str) -> Path:
    path = folder / "identities.toml"
    path.write_text(text)
    return path


def test_a_file_with_every_kind_of_entry_is_read(tmp_path: Path) -> None:
    digest = token_digest("a token").hex()
    text = (
        f'[[identity]]\nname = "ann"\npassword = "{HASH}"\n'
        f'[[identity]]\nname = "feed"\ntoken = "sha256:{digest}"\n'
        '[[identity]]\nname = "north"\nrole = "broker"\ncertificates = ["north.example.org"]\n'
    )
    assert read_identities(written(tmp_path, text + SIGNER.entry(tmp_path))) == KNOWN


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names nobody"),
        ("[[identity]\n", "is no file of identities"),
        ('[[identity]]\nname = "ann"\n', "add a password, a token or certificates"),
        ('[[identity]]\nname = "ann"\npassword = "secret"\n', "sapwood identity password"),
        ('[[identity]]\nname = "ann"\ntoken = "secret"\n', "sapwood identity token"),
        ('[[identity]]\nname = "ann"\ntoken = "sha256:00"\n', "64 hexadecimal digits"),
        ('[[identity]]\nname = "a/b"\ncertificates = ["x"]\n', "identity 1 ('a/b')"),
        ('[[identity]]\nname = "a b"\ncertificates = ["x"]\n', "without spaces"),
        ('[[identity]]\nname = "a"\nrole = "king"\ncertificates = ["x"]\n', "king"),
        ('[[identity]]\nname = "a"\npasword = "x"\n', "pasword"),
        ('[[identity]]\nname = "a"\ncertificates = ["x"]\n' * 2, "there twice"),
        (
            "".join(f'[[identity]]\nname = "{one}"\ncertificates = ["x"]\n' for one in "ab"),
            "'a' is known by certificate 'x' already",
        ),
        ('[[issuer]]\nname = "i"\nkey = "no.pem"\naudience = "a"\n', "no.pem: cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_place_and_the_remedy(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(InputError) as raised:
        read_identities(written(tmp_path, text))
    assert said in str(raised.value)


def test_a_key_that_is_not_one_of_ed25519_is_refused(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    public = ec.generate_private_key(ec.SECP256R1()).public_key()
    path = written(tmp_path, SIGNER.entry(tmp_path))
    pem = tmp_path / "login.pem"
    pem.write_bytes(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    with pytest.raises(InputError, match="Ed25519"):
        read_identities(path)
    pem.write_text("no key")
    with pytest.raises(InputError, match="no public key"):
        read_identities(path)


def test_what_is_printed_of_credentials_has_no_secret() -> None:
    assert "secret" not in repr(hello("desk", "ann", "secret"))
    assert "secret" not in str(decided(hello("desk", "ann", "secret")))


def test_hashes_are_what_is_compared_with() -> None:
    made = passwords.hashed("secret")
    known = passwords.Passwords()
    assert known.is_right(made, "secret")
    assert not known.is_right(made, "else")
    assert not known.is_right("no hash", "secret")
