"""The bindings that Wrangler prints, against those of a config."""

from fabric.app.importing.wrangler import list_binding_rows, list_wrangler_rows

OUTPUT = """\
env.\x1b[1mFILES\x1b[0m (orders (eu))      R2 Bucket
env.CART (Cart, defined in shop)      Durable Object
env.LEVEL ("debug")      Environment Variable
"""
BINDINGS = {
    "r2_buckets": [{"binding": "FILES", "bucket_name": "orders", "jurisdiction": "eu"}],
    "durable_objects": {
        "bindings": [{"name": "CART", "class_name": "Cart", "script_name": "shop"}]
    },
}


def test_details_colors_and_secrets_are_no_differences() -> None:
    config = {
        "functions": [{"name": "app"}],
        "env": {"LEVEL": "debug", "TOKEN": "[REDACTED]"},
        "extensions": {"edge1-workers": {"bindings": BINDINGS}},
    }
    own = list_binding_rows(config, ["TOKEN"])
    assert {one.value for one in own} == {"FILES orders", "CART Cart", "LEVEL"}
    assert list_wrangler_rows(OUTPUT, own) == own
