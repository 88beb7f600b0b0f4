// What goes wrong on purpose: see `Edge1Server.fault` and `throttle` in client.py.
import { no } from "./refusals.mjs";

// The fault that this call meets, if any; each is met `times` times after `skip` calls that fit.
export function planned(account, method, path) {
  for (const fault of account.faults) {
    if (fault.method && fault.method !== method) continue;
    if (fault.changing && method === "GET") continue;
    if (fault.path && !new RegExp(fault.path).test(path)) continue;
    if ((fault.skip ?? 0) > 0) {
      fault.skip -= 1;
      continue;
    }
    if ((fault.times ?? 1) < 1) continue;
    fault.times = (fault.times ?? 1) - 1;
    return fault;
  }
  return null;
}

export function refuse(fault) {
  no(fault.status, fault.code ?? 10000, fault.message ?? "planned", fault.headers);
}

// So many calls in a window; then one refusal, and the window begins anew.
export function counted(account) {
  const rate = account.rate;
  if (!rate) return {};
  if (rate.left < 1) {
    rate.left = rate.quota;
    no(429, 10429, "Please wait and consider throttling your request speed", { "retry-after": String(rate.seconds) });
  }
  rate.left -= 1;
  const said = { ratelimit: `"default";r=${rate.left};t=${rate.seconds}` };
  return { ...said, "ratelimit-policy": `"default";q=${rate.quota};w=${rate.seconds}` };
}
