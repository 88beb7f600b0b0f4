interface Env {
  ZONE: string;
}
let seen = '';

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    return Response.json({ seen, zone: env.ZONE, method: request.method });
  },
  async scheduled(controller: { cron: string; scheduledTime: number }, env: Env, ctx: { waitUntil(work: Promise<unknown>): void }) {
    ctx.waitUntil(Promise.resolve().then(() => (seen = controller.cron)));
    console.log(`${controller.cron} in ${env.ZONE}`);
  },
};
