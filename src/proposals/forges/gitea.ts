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
  const headers = { authorization: `token ${terms.token.reveal()}` };
  const exchange = new ForgeExchange({ ...terms, product: 'Gitea', headers });
  return {
    name: exchange.name,
    defaultBranch: async () => {
      const purpose = 'read the repository';
      return (await exchange.ask(Repository, { method: 'GET', path: '', purpose }))!.default_branch;
    },
    headOf: async (branch) => {
      const purpose = `read the branch ${branch}`;
      const path = `/branches/${inPath(branch)}`;
      const found = await exchange.ask(Branch, { method: 'GET', path, purpose, accepts: 404 });
      return found?.commit.id ?? null;
    },
    readFile: async (file, ref) => {
      const purpose = `read the file ${file}`;
      const path = `/contents/${inPath(file)}?ref=${encodeURIComponent(ref)}`;
      const found = await exchange.ask(Content, { method: 'GET', path, purpose, accepts: 404 });
      return found && { text: fromBase64(found.content), id: found.sha };
    },
    createBranch: async (branch, commit) => {
      const purpose = 'create a branch';
      const body = { new_branch_name: branch, old_ref_name: commit };
      // 409: the branch exists.
      await exchange.send({ method: 'POST', path: '/branches', body, purpose, accepts: 409 });
    },
    updateFile: async ({ branch, path: file, text, message, id: sha }) => {
      const purpose = `write the file ${file}`;
      const body = { message, content: inBase64(text), sha, branch };
      await exchange.send({ method: 'PUT', path: `/contents/${inPath(file)}`, body, purpose });
    },
    findPullRequest: async (branch, base) => {
      const purpose = 'look for the pull request';
      const path = `/pulls?state=all&sort=recentupdate&page=1&limit=${searchedMax}`;
      const pulls = (await exchange.ask(z.array(Pull), { method: 'GET', path, purpose }))!;
      const found = pulls.find((one) => one.head.ref === branch && one.base.ref === base);
      return found === undefined ? null : pullRequest(found);
    },
    createPullRequest: async ({ branch: head, base, title, body: text }) => {
      const purpose = 'open the pull request';
      const body = { title, head, base, body: text };
      const request = { method: 'POST', path: '/pulls', body, purpose, accepts: 409 } as const;
      const made = await exchange.ask(Pull, request);
      return made && pullRequest(made);
    },
  };
}

function pullRequest({ html_url: url, number, state }: z.infer<typeof Pull>): PullRequest {
  return { url, number, isOpen: state === 'open' };
}
