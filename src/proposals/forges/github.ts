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
  const repository = async () => {
    const purpose = 'read the repository';
    return (await exchange.ask(Repository, { method: 'GET', path: '', purpose }))!;
  };
  return {
    name: exchange.name,
    defaultBranch: async () => (await repository()).default_branch,
    headOf: async (branch) => {
      const purpose = `read the branch ${branch}`;
      const path = `/git/ref/heads/${inPath(branch)}`;
      const ref = await exchange.ask(Ref, { method: 'GET', path, purpose, accepts: 404 });
      return ref?.object.sha ?? null;
    },
    readFile: async (file, ref) => {
      const purpose = `read the file ${file}`;
      const path = `/contents/${inPath(file)}?ref=${encodeURIComponent(ref)}`;
      const found = await exchange.ask(Content, { method: 'GET', path, purpose, accepts: 404 });
      return found && { text: fromBase64(found.content), id: found.sha };
    },
    createBranch: async (branch, sha) => {
      const purpose = 'create a branch';
      const body = { ref: `refs/heads/${branch}`, sha };
      // 422: the branch exists.
      await exchange.send({ method: 'POST', path: '/git/refs', body, purpose, accepts: 422 });
    },
    updateFile: async ({ branch, path: file, text, message, id: sha }) => {
      const purpose = `write the file ${file}`;
      const body = { message, content: inBase64(text), sha, branch };
      await exchange.send({ method: 'PUT', path: `/contents/${inPath(file)}`, body, purpose });
    },
    findPullRequest: async (branch, base) => {
      const { owner } = await repository();
      const query = new URLSearchParams({ head: `${owner.login}:${branch}`, base, state: 'all' });
      const purpose = 'look for the pull request';
      const request = { method: 'GET', path: `/pulls?${query}`, purpose } as const;
      const [found] = (await exchange.ask(z.array(Pull), request))!;
      return found === undefined ? null : pullRequest(found);
    },
    createPullRequest: async ({ branch: head, base, title, body: text }) => {
      const purpose = 'open the pull request';
      const body = { title, head, base, body: text, maintainer_can_modify: true };
      const request = { method: 'POST', path: '/pulls', body, purpose, accepts: 422 } as const;
      const made = await exchange.ask(Pull, request);
      return made && pullRequest(made);
    },
  };
}

function pullRequest({ html_url: url, number, state }: z.infer<typeof Pull>): PullRequest {
  return { url, number, isOpen: state === 'open' };
}
