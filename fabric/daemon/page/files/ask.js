// Requests to the daemon. What fails is thrown with all that the daemon says of it.
export class Refused extends Error {
  constructor(status, problems, seconds) {
    super(problems[0].message);
    this.status = status;
    this.problems = problems;
    this.seconds = seconds;
  }
}

const UNREACHED = {
  code: "page/unreached",
  message: "The daemon does not respond.",
  hint: "run: fabricd status",
  where: null,
};

export async function ask(method, path, values = {}) {
  const query = new URLSearchParams(values).toString();
  const response = await answered(method, query ? `${path}?${query}` : path);
  const told = await read(response);
  if (response.ok) return told;
  const problems = told.problems && told.problems.length ? told.problems : [UNREACHED];
  throw new Refused(response.status, problems, Number(response.headers.get("Retry-After")) || 0);
}

async function answered(method, path) {
  try {
    return await fetch(path, { method, headers: { Accept: "application/json" } });
  } catch {
    throw new Refused(0, [UNREACHED], 0);
  }
}

async function read(response) {
  if (response.status === 204) return {};
  try {
    return await response.json();
  } catch {
    return {};
  }
}
