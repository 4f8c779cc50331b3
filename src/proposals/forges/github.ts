/** Speaks the API of GitHub: https://docs.github.com/rest. */
import { z } from 'zod';
import type { ForgeApi, PullRequest } from './forge.ts';
import { ForgeExchange, type ForgeTerms, fromBase64, inBase64, inPath } from './forge-exchange.ts';

const Repository = z.object({ default_branch: z.string(), owner: z.object({ login: z.string() }) });
const Ref = z.object({ object: z.object({ sha: z.string() }) });
const Content = z.object({ type: z.literal('file'), sha: z.string(), content: z.string() });
const Pull = z.object({ html_url: z.url(), number: z.int(), state: z.string() });

export function githubApi(terms: ForgeTerms): ForgeApi {
  const exchange = new ForgeExchange({
    ...terms,
    product: 'GitHub',
    headers: {
      authorization: `Bearer ${terms.token.reveal()}`,
      accept: 'application/vnd.github+json',
      'x-github-api-version': '2022-11-28',
    },
  });
  const read = <T>(schema: z.ZodType<T>, body: unknown, purpose: string): T => {
    const result = schema.safeParse(body);
    if (!result.success) throw exchange.unreadable(purpose);
    return result.data;
  };
  const repository = async () => {
    const purpose = 'read the repository';
    const { body } = await exchange.send({ method: 'GET', path: '', purpose });
    return read(Repository, body, purpose);
  };
  return {
    name: exchange.name,
    defaultBranch: async () => (await repository()).default_branch,
    headOf: async (branch) => {
      const purpose = `read the branch ${branch}`;
      const path = `/git/ref/heads/${inPath(branch)}`;
      const { status, body } = await exchange.send({
        method: 'GET',
        path,
        purpose,
        accepts: [404],
      });
      return status === 404 ? null : read(Ref, body, purpose).object.sha;
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
      // 422: the branch exists.
      await exchange.send({
        method: 'POST',
        path: '/git/refs',
        body: { ref: `refs/heads/${branch}`, sha: commit },
        purpose: 'create a branch',
        accepts: [422],
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
      const { owner } = await repository();
      const query = new URLSearchParams({ head: `${owner.login}:${branch}`, base, state: 'all' });
      const { body } = await exchange.send({ method: 'GET', path: `/pulls?${query}`, purpose });
      const [found] = read(z.array(Pull), body, purpose);
      return found === undefined ? null : pullRequest(found);
    },
    createPullRequest: async ({ branch, base, title, body: text }) => {
      const purpose = 'open the pull request';
      const { status, body } = await exchange.send({
        method: 'POST',
        path: '/pulls',
        body: { title, head: branch, base, body: text, maintainer_can_modify: true },
        purpose,
        accepts: [422],
      });
      return status === 422 ? null : pullRequest(read(Pull, body, purpose));
    },
  };
}

function pullRequest({ html_url: url, number, state }: z.infer<typeof Pull>): PullRequest {
  return { url, number, isOpen: state === 'open' };
}
