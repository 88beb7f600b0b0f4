interface User {
  id: string;
  name: string;
}
const users = new Map<string, User>([['1', { id: '1', name: 'Ann' }]]);

export const find = async (id: string): Promise<User | undefined> => users.get(id);
export const save = async (user: User): Promise<User> => {
  users.set(user.id, user);
  return user;
};
