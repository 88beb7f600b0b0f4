/** What an http function receives; only the fields that the shop reads. */
export interface Request {
  headers?: Record<string, string>;
  pathParameters?: Record<string, string>;
  queryStringParameters?: Record<string, string>;
  body?: string | null;
}

export interface Answer {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
}

export function json(statusCode: number, value: unknown): Answer {
  return {
    statusCode,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(value),
  };
}

/** The JSON body of a request; undefined where it is missing or malformed. */
export function bodyOf<T>(request: Request): T | undefined {
  try {
    return request.body ? (JSON.parse(request.body) as T) : undefined;
  } catch {
    return undefined;
  }
}
