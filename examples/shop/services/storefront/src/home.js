import { escape, page } from "./page";

export async function handler(request) {
  const name = request.queryStringParameters?.name ?? "guest";
  return {
    statusCode: 200,
    headers: { "content-type": "text/html; charset=utf-8" },
    body: page("Shop", `<h1>Welcome, ${escape(name)}</h1>`),
  };
}
