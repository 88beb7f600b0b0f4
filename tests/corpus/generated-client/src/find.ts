import { fields, type User } from "./generated/client";

export async function handler(event: { id: string }): Promise<User & { known: readonly string[] }> {
  return { id: event.id, email: `${event.id}@shop.example`, known: fields };
}
