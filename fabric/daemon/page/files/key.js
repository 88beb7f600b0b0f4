// The form that asks for a key. The key goes to this server once, in a header, and is not kept.
const form = document.getElementById("form");
const field = document.getElementById("key");
const wrong = document.getElementById("wrong");
const button = form.querySelector("button");
const TEXTS = {
  401: "Wrong API key.",
  429: "Too many attempts. Wait a minute.",
};

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  tell("");
  if (!field.value) { tell("Enter an API key."); return; }
  if (!/^[!-~]+$/.test(field.value)) { tell(TEXTS[401]); return; }
  button.disabled = true;
  const status = await signIn(field.value);
  button.disabled = false;
  if (status === 204) { location.reload(); return; }
  tell(TEXTS[status] || "Unexpected response from the daemon. Try again later.");
  field.select();
});

async function signIn(key) {
  try {
    return (await fetch("/session", { method: "POST", headers: { "X-API-Key": key } })).status;
  } catch {
    return 0;
  }
}

function tell(text) {
  wrong.textContent = text;
  field.setAttribute("aria-invalid", String(Boolean(text)));
}
