import { json } from "../../../libs/shared/http";

export default async () => json(200, { ok: true });
