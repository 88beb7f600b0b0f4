import { type Answer, json, type Request } from "../../../libs/shared/http";
import { verify } from "../../../libs/shared/token";

export async function handler(request: Request): Promise<Answer> {
  const token = request.headers?.authorization?.replace(/^Bearer /, "") ?? "";
  const user = verify(token, process.env.TOKEN_SECRET ?? "");
  return user ? json(200, { user }) : json(401, { error: "the token is not ours" });
}
