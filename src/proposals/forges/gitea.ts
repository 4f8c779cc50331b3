/** Speaks the API of Gitea and Forgejo: https://docs.gitea.com/api. */
import { z } from 'zod';
import type { ForgeApi, PullRequest } from './forge.ts';
import { ForgeExchange, type ForgeTerms, fromBase64, inBase64, inPath } from './forge-exchange.ts';

const Repository = z.object({ default_branch: z.string() });
const Branch = z.object({ commit: z.object({ id: z.string() }) });
const Content = z.object({ type: z.literal('file'), sha: z.string(), content: z.string() });
const Pull = z.object({
  html_url: z.url(),
  number: z.int(),
  state: z.string(),
  head: z.object({ ref: z.string() }),
  base: z.object({ ref: z.string() }),
});

/** Newest pull requests among which the one of a branch is looked for. */
const searchedMax = 50;

export function giteaApi(terms: ForgeTerms): ForgeApi {
  const exchange = new ForgeExchange({
    ...terms,
    product: 'Gitea',
    headers: { authorization: `token ${terms.token.reveal()}` },
  });
  const read = <T>(schema: z.ZodType<T>, body: unknown, purpose: string): T => {
    const result = schema.safeParse(body);
    if (!result.success) throw exchange.unreadable(purpose);
    return result.data;
  };
  return {
    name: exchange.name,
    defaultBranch: async () => {
      const purpose = 'read the repository';
      const { body } = await exchange.send({ method: 'GET', path: '', purpose });
      return read(Repository, body, purpose).default_branch;
    },
    headOf: async (branch) => {
      const purpose = `read the branch ${branch}`;
      const path = `/branches/${inPath(branch)}`;
      const { status, body } = await exchange.send({
        method: 'GET',
        path,
        purpose,
        accepts: [404],
      });
      return status === 404 ? null : read(Branch, body, purpose).commit.id;
    },
    readFile: async (path, ref) => {
      const purpose = `read the file ${path}`;
      const { status, body } = await exchange.send({
        method: 'GET',
        path: `/contents/${inPath(path)}?ref=${encodeURIComponent(ref)}`,
        purpose,
        accepts: [404],
      });
      if (status === 404) return null;
      const { sha, content } = read(Content, body, purpose);
      return { text: fromBase64(content), id: sha };
    },
    createBranch: async (branch, commit) => {
      // 409: the branch exists.
      await exchange.send({
        method: 'POST',
        path: '/branches',
        body: { new_branch_name: branch, old_ref_name: commit },
        purpose: 'create a branch',
        accepts: [409],
      });
    },
    updateFile: async ({ branch, path, text, message, id }) => {
      await exchange.send({
        method: 'PUT',
        path: `/contents/${inPath(path)}`,
        body: { message, content: inBase64(text), sha: id, branch },
        purpose: `write the file ${path}`,
      });
    },
    findPullRequest: async (branch, base) => {
      const purpose = 'look for the pull request';
      const path = `/pulls?state=all&sort=recentupdate&page=1&limit=${searchedMax}`;
      const { body } = await exchange.send({ method: 'GET', path, purpose });
      const found = read(z.array(Pull), body, purpose).find(
        (one) => one.head.ref === branch && one.base.ref === base,
      );
      return found === undefined ? null : pullRequest(found);
    },
    createPullRequest: async ({ branch, base, title, body: text }) => {
      const purpose = 'open the pull request';
      const { status, body } = await exchange.send({
        method: 'POST',
        path: '/pulls',
        body: { title, head: branch, base, body: text },
        purpose,
        accepts: [409],
      });
      return status === 409 ? null : pullRequest(read(Pull, body, purpose));
    },
  };
}

function pullRequest({ html_url: url, number, state }: z.infer<typeof Pull>): PullRequest {
  return { url, number, isOpen: state === 'open' };
}
