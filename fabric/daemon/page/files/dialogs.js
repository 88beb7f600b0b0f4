// Nothing is changed before somebody has said so: what is about to happen, and names typed again.
import { byId, fill, make } from "./elements.js";
import { problemItem } from "./sections.js";
import { changesOf, isReal, modeOf } from "./standing.js";

// Opens the dialog; `act` is called with what was typed, and its failure is shown in place.
export function open({ title, words, button, names, isDanger }, act) {
  const dialog = byId("ask"), yes = byId("ask-yes");
  byId("ask-title").textContent = title;
  fill(byId("ask-words"), ...words.map((one) => make("p", {}, one)));
  fill(byId("ask-problems"));
  const fields = names.map(nameField);
  fill(byId("ask-fields"), ...fields.map((one) => one.label));
  yes.textContent = button;
  yes.className = isDanger ? "danger" : "main";
  const look = () => { yes.disabled = fields.some((one) => one.input.value !== one.wanted); };
  for (const one of fields) one.input.addEventListener("input", look);
  look();
  dialog.querySelector("form").onsubmit = (event) => {
    event.preventDefault();
    if (!yes.disabled) carryOut(dialog, yes, act);
  };
  byId("ask-no").onclick = () => dialog.close();
  dialog.showModal();
  (fields[0] ? fields[0].input : yes).focus();
}

async function carryOut(dialog, yes, act) {
  yes.disabled = true;
  try {
    await act();
    dialog.close();
    // What was pressed may be gone by now.
    if (document.activeElement === document.body) byId("headline").focus();
  } catch (error) {
    fill(byId("ask-problems"), ...(error.problems || [{ message: String(error), code: "page/failed" }]).map(problemItem));
    yes.disabled = false;
  }
}

function nameField({ what, wanted }) {
  const input = make("input", { type: "text", autocomplete: "off", spellcheck: "false", autocapitalize: "none" });
  const label = make("label", {}, make("span", {}, `Type the name of the ${what} (`, make("code", {}, wanted), ") to confirm"), input);
  return { label, input, wanted };
}

export function deployWords(status) {
  const todo = changesOf(status);
  const mode = modeOf(status);
  return {
    title: `Deploy ${status.service} to ${status.stage}?`,
    words: [todo ? `${todo}.` : "No changes to deploy.",
      mode === "simulated" ? "Simulated: no provider is called." : mode === "command" ? `This runs the custom deploy command of ${status.provider}.` : `This deploys to ${status.provider} (${mode} mode).`],
    button: "Deploy",
    names: protection(status),
    isDanger: false,
  };
}

export function removeWords(status) {
  const real = isReal(status);
  return {
    title: `Remove ${status.service} from ${status.stage}?`,
    words: [status.live.length ? `This deletes all deployed functions of ${status.service} from ${status.live.map((one) => one.provider).join(", ")}.` : "Nothing is deployed.",
      real ? "Cloud resources are deleted." : "The deployment is simulated: only its state is removed."],
    button: "Remove",
    names: [...(real ? [{ what: "service", wanted: status.service }] : []), ...protection(status)],
    isDanger: true,
  };
}

const protection = (status) => (status.protected ? [{ what: "stage", wanted: status.stage }] : []);
