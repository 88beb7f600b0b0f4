/** A function `(req, res)`, as an Express application is one. */
export type ListenerApp = (req: any, res: any, ...rest: any[]) => unknown;

/** A Fastify instance. */
export interface InjectableApp {
  inject: (request: any) => any;
}

/** A Nest application, on Express or on Fastify. */
export interface AdaptedApp {
  getHttpAdapter: () => any;
}

export type App = ListenerApp | InjectableApp | AdaptedApp;

export interface Options {
  /** What stands before the application's own paths, such as `/api`: it is taken off. */
  basePath?: string;
  /** Milliseconds until a call is answered with 504; never longer than the context has left. */
  timeout?: number;
  /** Types that always go as base64, besides those that are no text: `application/pdf`, `font/*`. */
  binaryTypes?: readonly string[];
  /** Is given events that are no http events, and answers them. */
  onEvent?: (event: any, context: any) => unknown;
}

/** The answer to an http event: `cookies` in version 2.0, `multiValueHeaders` in the older one. */
export interface Answer {
  statusCode: number;
  headers: Record<string, string>;
  multiValueHeaders?: Record<string, string[]>;
  cookies?: string[];
  body: string;
  isBase64Encoded: boolean;
}

/** Makes a handler `(event, context)` of an application, or of a promise of one. */
export declare function handler(
  app: App | PromiseLike<App>,
  options?: Options & { onEvent?: undefined },
): (event: any, context?: any) => Promise<Answer>;
export declare function handler(
  app: App | PromiseLike<App>,
  options: Options,
): (event: any, context?: any) => Promise<any>;

/** The event and the context that a request was made of; Fastify's requests have them, too. */
export declare function invocationOf(request: object): { event: any; context: any } | undefined;

/** An event that is no http event, and no `onEvent` to give it to. */
export declare class NotHttpEventError extends TypeError {
  constructor(event: unknown);
}
