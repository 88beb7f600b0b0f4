interface HttpEvent {
  queryStringParameters?: Record<string, string>;
}

/** Calls the handler for each event of the Runtime API. */
export async function serve(handle: (event: HttpEvent) => unknown): Promise<never> {
  const base = `http://${process.env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime/invocation/`;
  while (true) {
    const next = await fetch(base + "next");
    const id = next.headers.get("lambda-runtime-aws-request-id");
    const body = JSON.stringify(await handle((await next.json()) as HttpEvent));
    await (await fetch(`${base}${id}/response`, { method: "POST", body })).text();
  }
}
