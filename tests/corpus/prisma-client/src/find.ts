import { PrismaClient } from "@prisma/client";

const prisma = new PrismaClient();

export async function handler(event: { id: number }): Promise<unknown> {
  return prisma.user.findUnique({ where: { id: event.id } });
}
