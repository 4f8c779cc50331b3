/** Git host of the gauntlet: serves the repositories of a folder, which the gauntlet commits to. */
import { startGitServer } from '../../support/git/git-server.ts';
import { reportReady } from './orders.ts';

const [port, root] = process.argv.slice(2);
const server = await startGitServer({ port: Number(port), root: root! });
reportReady({ port: Number(port), caFile: server.caFile });
