const header = await Promise.resolve('start');

export async function* rows(count) {
  yield `${JSON.stringify(header)}\n`;
  for (let at = 1; at <= count; at += 1) {
    await new Promise((done) => setTimeout(done, 1));
    yield `${JSON.stringify({ at })}\n`;
  }
}
