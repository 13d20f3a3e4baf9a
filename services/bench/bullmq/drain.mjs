// Drains jobs that do nothing by one BullMQ worker, and prints how long that took.
// Arguments: port of Redis, jobs, jobs that go before to warm it up, concurrency.
import { Queue, Worker } from 'bullmq';

const [port, count, warmUp, concurrency] = process.argv.slice(2).map(Number);
const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };
const name = `bench-${process.pid}`;
const queue = new Queue(name, { connection });

async function fill(jobs) {
  for (let from = 0; from < jobs; from += 1000) {
    await queue.addBulk(Array.from({ length: Math.min(1000, jobs - from) }, (_, n) => ({
      name: 'issue',
      data: { visitor: String(from + n).padStart(36, '0') },
      opts: { removeOnComplete: true, attempts: 5 },
    })));
  }
}

// Seconds from the end of the first job to the end of the last.
function drain(jobs) {
  return new Promise((resolve, reject) => {
    let done = 0;
    let began;
    const worker = new Worker(name, async () => {}, { connection, concurrency });
    worker.on('error', reject);
    worker.on('completed', () => {
      began ??= process.hrtime.bigint();
      done += 1;
      if (done < jobs) return;
      const seconds = Number(process.hrtime.bigint() - began) / 1e9;
      worker.close().then(() => resolve(seconds), reject);
    });
  });
}

await fill(warmUp);
await drain(warmUp);
await fill(count);
console.log('filled');
const before = process.cpuUsage();
const seconds = await drain(count);
const { user, system } = process.cpuUsage(before);
console.log(`drained ${JSON.stringify({ seconds, cpu_us: user + system })}`);
await queue.obliterate({ force: true });
await queue.close();
