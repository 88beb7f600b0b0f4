"""The signature of a service account, against the one that openssl makes."""

import base64
import contextlib
import subprocess
from pathlib import Path

import pytest

from fabric.system.crypto.signed_tokens import build_token, read_key, sign

HEADER = "-----BEGIN PRIVATE KEY-----"
FOOTER = "-----END PRIVATE KEY-----"


def made_by_openssl(folder: Path, *words: str) -> tuple[Path, str]:
    file = folder / "key.pem"
    subprocess.run(["openssl", "genpkey", *words, "-out", file], check=True, capture_output=True)
    return file, file.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("bits", [1024, 2048, 3072])
def test_it_signs_as_openssl_does(bits: int, tmp_path: Path) -> None:
    file, pem = made_by_openssl(
        tmp_path, "-algorithm", "RSA", "-pkeyopt", f"rsa_keygen_bits:{bits}"
    )
    theirs = subprocess.run(
        ["openssl", "dgst", "-sha256", "-sign", file],
        input=b"a message",
        capture_output=True,
        check=True,
    ).stdout
    assert sign(b"a message", read_key(pem)) == theirs


def test_a_token_has_three_parts_without_padding(tmp_path: Path) -> None:
    _, pem = made_by_openssl(tmp_path, "-algorithm", "RSA")
    made = build_token({"alg": "RS256"}, {"iat": 1}, read_key(pem))
    head, claims, signature = made.split(".")
    assert (head, claims) == ("eyJhbGciOiJSUzI1NiJ9", "eyJpYXQiOjF9")
    assert "=" not in signature


def test_a_key_does_not_show_itself(tmp_path: Path) -> None:
    _, pem = made_by_openssl(tmp_path, "-algorithm", "RSA")
    key = read_key(pem)
    assert str(key.secret.reveal().private_numbers().d) not in repr(key)


@pytest.mark.slow
def test_a_damaged_key_is_refused_before_it_signs_wrongly(tmp_path: Path) -> None:
    _, pem = made_by_openssl(tmp_path, "-algorithm", "RSA")
    lines = pem.splitlines()
    der = bytearray(base64.b64decode("".join(lines[1:-1])))
    accepted = 0
    for place in range(40, len(der), len(der) // 30):
        damaged = bytearray(der)
        damaged[place] ^= 1
        body = base64.b64encode(bytes(damaged)).decode()
        with contextlib.suppress(ValueError):
            read_key("\n".join((lines[0], body, lines[-1])))
            accepted += 1
    # Of two thousand damaged keys one is not seen to be so.
    assert accepted <= 1


def test_the_older_form_of_a_key_is_read(tmp_path: Path) -> None:
    file, pem = made_by_openssl(tmp_path, "-algorithm", "RSA")
    older = subprocess.run(
        ["openssl", "rsa", "-in", file, "-traditional"], check=True, capture_output=True, text=True
    ).stdout
    assert "BEGIN RSA PRIVATE KEY" in older
    assert sign(b"x", read_key(older)) == sign(b"x", read_key(pem))


@pytest.mark.parametrize(
    "pem",
    [
        "",
        "hush",
        f"{HEADER}\nhush\n",
        f"{HEADER}\nhush!\n{FOOTER}",
        f"{HEADER}\nMAA=\n{FOOTER}",
        f"{HEADER}\n\n{FOOTER}",
    ],
)
def test_invalid_key_is_refused_without_quoting_it(pem: str) -> None:
    with pytest.raises(ValueError, match="key") as caught:
        read_key(pem)
    assert "hush" not in str(caught.value)


def test_a_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    _, pem = made_by_openssl(tmp_path, "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    with pytest.raises(ValueError, match="key"):
        read_key(pem)
