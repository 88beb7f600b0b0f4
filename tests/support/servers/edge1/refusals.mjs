// Answers in the shape that the interface has, and refusals in its own words. Codes that are marked
// (docs) are documented or were seen; the others are this server's choice.

export class Refused extends Error {
  constructor(status, code, message, headers = {}) {
    super(message);
    Object.assign(this, { status, code, headers });
  }
}

export function no(status, code, message, headers) {
  throw new Refused(status, code, message, headers);
}

export const noWorker = () => no(404, 10007, "This Worker does not exist on your account."); // (docs)

export function ok(result) {
  return { result, success: true, errors: [], messages: [] };
}

export function refusal(error) {
  return { result: null, success: false, errors: [{ code: error.code, message: error.message }], messages: [] };
}
