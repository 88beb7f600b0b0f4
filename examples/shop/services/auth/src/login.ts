import { type Answer, bodyOf, json, type Request } from "../../../libs/shared/http";
import { sign } from "../../../libs/shared/token";

export async function handler(request: Request): Promise<Answer> {
  const user = bodyOf<{ user?: string }>(request)?.user;
  if (!user) {
    return json(400, { error: "name a user" });
  }
  return json(200, { token: sign(user, process.env.TOKEN_SECRET ?? "") });
}
