export async function handler(): Promise<{ from: string | undefined }> {
  return { from: process.env.CATALOG_URL };
}
