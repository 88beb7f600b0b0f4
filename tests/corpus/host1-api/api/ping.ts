export function GET(request: Request): Response {
  return new Response(`pong ${new URL(request.url).searchParams.get('n') ?? ''}`, { headers: { 'cache-control': 's-maxage=60' } });
}
export async function POST(request: Request): Promise<Response> {
  return Response.json(await request.json(), { status: 201 });
}
