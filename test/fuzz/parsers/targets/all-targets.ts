/** Lists the parsers that are fuzzed. */
import type { ParserTarget } from '../parser-target.ts';
import { awsTarget } from './aws.ts';
import { eventsTarget } from './events.ts';
import { framesTarget } from './frames.ts';
import { jsonTarget } from './json.ts';
import { mcpTarget } from './mcp.ts';
import { multipartTarget } from './multipart.ts';
import { yamlTarget } from './yaml.ts';

export const allTargets: readonly ParserTarget[] = [
  yamlTarget,
  eventsTarget,
  multipartTarget,
  jsonTarget,
  awsTarget,
  framesTarget,
  mcpTarget,
];
