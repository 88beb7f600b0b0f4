import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import serverless from 'serverless-http';
import { AppModule } from './app.module';
import { ErrorsFilter } from '@common/errors.filter';

type Handler = (event: object, context: object) => Promise<unknown>;
let started: Promise<Handler> | undefined;

async function bootstrap(): Promise<Handler> {
  const app = await NestFactory.create(AppModule, { logger: ['error'] });
  app.useGlobalFilters(new ErrorsFilter());
  await app.init();
  return serverless(app.getHttpAdapter().getInstance()) as Handler;
}

export const handler: Handler = async (event, context) => {
  started ??= bootstrap();
  return (await started)(event, context);
};
