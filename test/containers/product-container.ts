/** Runs the product's image like a hardened cluster: nothing writable, no rights, any user. */
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers';

interface ContainerResult {
  readonly exitCode: number;
  /** Its standard output. */
  readonly output: string;
}

export interface ProductContainer extends AsyncDisposable {
  /** `http://127.0.0.1:port` of the Admin API. */
  readonly url: string;
  /** Runs another program in the container to completion. */
  exec(words: string[]): Promise<ContainerResult>;
  /** Sends SIGTERM. */
  terminate(): Promise<void>;
  /** Resolves once the process has ended. */
  end(): Promise<ContainerResult>;
}

interface ProductOptions {
  readonly image: string;
  readonly words: string[];
  readonly environment: Record<string, string>;
  /** Name of the database's network. */
  readonly network: string;
}

class LockedContainer extends GenericContainer {
  constructor({ image, words, environment, network }: ProductOptions) {
    super(image);
    this.hostConfig.ReadonlyRootfs = true;
    this.withDroppedCapabilities('ALL')
      .withSecurityOpt('no-new-privileges')
      .withTmpFs({ '/tmp': 'rw,mode=1777,size=64m' })
      .withEnvironment(environment)
      .withNetworkMode(network)
      .withCommand(words)
      .withStartupTimeout(300_000);
  }
}

/** Runs a command to completion and returns its standard output. @throws Error if it fails */
export async function runProduct(options: ProductOptions): Promise<string> {
  const container = new LockedContainer(options).withWaitStrategy(Wait.forOneShotStartup());
  const started = await container.start();
  try {
    return (await endOf(started.getId())).output;
  } finally {
    await started.stop({ timeout: 0 });
  }
}

/** Resolves once the API is ready. */
export async function startProduct(options: ProductOptions): Promise<ProductContainer> {
  const container = new LockedContainer(options)
    .withExposedPorts(8080)
    .withWaitStrategy(Wait.forHttp('/readyz', 8080).forStatusCode(200));
  const started = await container.start();
  const id = started.getId();
  return {
    url: `http://127.0.0.1:${started.getMappedPort(8080)}`,
    exec: (words) => started.exec(words),
    terminate: async () => {
      const { container: engine } = await getContainerRuntimeClient();
      await engine.getById(id).kill({ signal: 'SIGTERM' });
    },
    end: () => endOf(id),
    [Symbol.asyncDispose]: async () => {
      await started.stop({ timeout: 0 });
    },
  };
}

async function endOf(id: string): Promise<ContainerResult> {
  const { container: engine } = await getContainerRuntimeClient();
  const container = engine.getById(id);
  const { StatusCode: exitCode } = await container.wait();
  const written = await container.logs({ follow: true, stdout: true, stderr: false });
  const output = new PassThrough();
  written.once('end', () => output.end());
  engine.dockerode.modem.demuxStream(written, output, output);
  return { exitCode, output: await text(output) };
}
