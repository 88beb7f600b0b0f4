"use strict";
// How long an application may take, and what is answered in place of one that takes longer.

// Time to send the answer in, before the platform ends the function: a tenth, half a second at most.
const MARGIN_SHARE = 0.1;
const LONGEST_MARGIN = 500;
// Timers of Node's that are longer fire at once.
const LONGEST_TIMER = 2 ** 31 - 1;

function limitOf(timeout, context) {
  const left = context?.getRemainingTimeInMillis?.();
  if (typeof left !== "number" || Number.isNaN(left)) return timeout;
  return Math.min(timeout, Math.max(1, left - Math.min(LONGEST_MARGIN, left * MARGIN_SHARE)));
}

async function within(limit, work, tooLate) {
  const stop = new AbortController();
  const working = work(stop.signal);
  if (limit > LONGEST_TIMER) return working;
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(() => {
      resolve(tooLate());
      stop.abort();
    }, limit);
  });
  try {
    return await Promise.race([working, late]);
  } finally {
    clearTimeout(timer);
  }
}

module.exports = { limitOf, within };
