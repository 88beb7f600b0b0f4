interface Batch {
  Records: { messageId: string; body: string }[];
}

export async function handler(batch: Batch): Promise<{ confirmed: string[] }> {
  return { confirmed: batch.Records.map((record) => JSON.parse(record.body).order) };
}
