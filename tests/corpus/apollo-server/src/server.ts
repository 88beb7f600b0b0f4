import { ApolloServer } from '@apollo/server';
import { handlers, startServerAndCreateLambdaHandler } from '@as-integrations/aws-lambda';
import typeDefs from './schema.graphql';
import { resolvers } from './resolvers';

interface Asking {
  who: string;
}

const server = new ApolloServer<Asking>({ typeDefs, resolvers, introspection: true });

export const graphqlHandler = startServerAndCreateLambdaHandler(
  server,
  handlers.createAPIGatewayProxyEventV2RequestHandler(),
  { context: async ({ event }) => ({ who: event.headers['x-user'] ?? 'nobody' }) },
);
