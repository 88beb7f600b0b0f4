interface Application {
  (req: { url?: string }, res: { end(text: string): void }): unknown;
  use(path: string): this;
}

declare const app: Application;
export default app;
