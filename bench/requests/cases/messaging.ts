import type { Made, Trace } from "../traffic.ts";
import { shop, shops } from "./case.ts";
import type { RequestCase } from "./case.ts";

const setting = { services: ["web", "search", "store", "mailer"] };

const sent = (trace: Trace, name = "orders send"): Made => shop(trace).own("producer", name, 50, 3);

/** A message that `mailer` handles, and asks `store` about. */
function handled(message: Made): Made {
  message.asked();
  message.ask("store", "GET /customer", 2, 10);
  return message;
}

const operation = (type: string): { attributes: Record<string, string> } => ({
  attributes: { "messaging.system": "kafka", "messaging.operation.type": type },
});

export const MESSAGING: readonly RequestCase[] = [
  {
    name: "kafka-process-below-send",
    setting,
    make: (world) =>
      world.every(20, (trace) => handled(sent(trace).span("consumer", "mailer", "orders process", 800, 30))),
  },
  {
    name: "kafka-process-in-a-trace-of-its-own",
    setting,
    make: (world) => {
      world.every(20, (trace) => sent(trace));
      world.every(20, (trace) =>
        handled(trace.span("consumer", "mailer", "orders process", 30, operation("process"))),
      );
    },
  },
  {
    name: "kafka-poll-and-process-both-consumers",
    setting,
    make: (world) => {
      world.every(20, (trace) => sent(trace));
      world.every(20, (trace) => {
        const poll = trace.span("consumer", "mailer", "poll orders", 300, {
          attributes: { "messaging.operation.name": "poll" },
        });
        handled(poll.own("consumer", "process orders", 300, 30, operation("process")));
      });
    },
  },
  {
    name: "kafka-poll-as-client",
    setting,
    make: (world) => {
      world.every(20, (trace) => sent(trace));
      world.every(2, (trace) => trace.span("client", "mailer", "poll orders", 500, operation("receive")));
      world.every(20, (trace) =>
        handled(trace.span("consumer", "mailer", "process orders", 30, operation("process"))),
      );
    },
  },
  {
    name: "batch-of-messages",
    setting,
    make: (world) => {
      world.every(20, (trace) => sent(trace));
      world.every(4, (trace) => {
        const batch = trace.span("consumer", "mailer", "orders process", 200, operation("process")).asked();
        for (let message = 0; message < 5; message += 1)
          batch.ask("store", "POST /mail", 5 + 35 * message, 30);
      });
    },
  },
  {
    name: "celery-task-seconds-later",
    setting,
    make: (world) =>
      world.every(20, (trace) =>
        handled(sent(trace, "apply_async/mail").span("consumer", "mailer", "run/mail", 3_000, 40)),
      ),
  },
  {
    name: "celery-task-tried-again",
    setting,
    make: (world) =>
      world.every(20, (trace, number) => {
        const task = sent(trace, "apply_async/mail");
        if (number % 4 === 0) task.span("consumer", "mailer", "run/mail", 100, 40, { failed: true }).asked();
        handled(task.span("consumer", "mailer", "run/mail", 1_000, 40));
      }),
  },
  {
    name: "sqs-long-polls-as-clients",
    setting,
    make: (world) => {
      world.every(20, (trace) => sent(trace));
      world.every(0.5, (trace) => trace.span("client", "mailer", "SQS.ReceiveMessage", 18_000));
      world.every(20, (trace) => handled(trace.span("consumer", "mailer", "mail process", 30)));
    },
  },
  {
    name: "sqs-receives-as-clients-and-jobs-without-kind",
    setting,
    make: (world) => {
      world.every(20, (trace) => sent(trace));
      world.every(0.5, (trace) =>
        trace.span("client", "mailer", "receive mail", 18_000, operation("receive")),
      );
      world.every(20, (trace) => handled(trace.span("internal", "mailer", "handle mail", 30)));
    },
  },
  {
    name: "worker-that-pops-and-blocks",
    setting,
    make: (world) => {
      world.every(20, (trace) => sent(trace));
      world.every(4, (trace) =>
        trace.span("client", "mailer", "BRPOP", 1_000, { attributes: { "db.system": "redis" } }),
      );
      world.every(20, (trace) => handled(trace.span("consumer", "mailer", "job perform", 30)));
    },
  },
  {
    name: "rabbitmq-publish-and-process",
    setting,
    make: (world) =>
      world.every(20, (trace) => {
        const publish = sent(trace, "orders publish");
        const attributes = { "messaging.system": "rabbitmq", "messaging.operation": "process" };
        handled(publish.span("consumer", "mailer", "orders process", 20, 25, { attributes }));
      }),
  },
  {
    name: "rabbitmq-deliver-below-receive-in-the-same-trace",
    setting,
    make: (world) =>
      world.every(20, (trace) => {
        const receive = sent(trace, "orders publish").span("consumer", "mailer", "orders receive", 20, 5, {
          attributes: { "messaging.operation": "receive" },
        });
        handled(receive.own("consumer", "orders process", 6, 25));
      }),
  },
  {
    name: "consumers-in-a-chain",
    setting: { services: ["web", "search", "store", "mailer", "printer"] },
    make: (world) =>
      world.every(20, (trace) => {
        const mail = handled(sent(trace).span("consumer", "mailer", "orders process", 100, 30));
        const print = mail.own("producer", "labels send", 20, 2);
        print.span("consumer", "printer", "labels process", 400, 80).asked();
      }),
  },
  {
    name: "message-handler-as-server-span",
    setting,
    make: (world) =>
      world.every(20, (trace) => handled(sent(trace).span("server", "mailer", "orders handle", 100, 30))),
  },
  {
    name: "cron-jobs",
    setting,
    make: (world) => {
      shops(world);
      world.every(5, (trace) => handled(trace.span("internal", "mailer", "send digest", 90)));
    },
  },
  {
    name: "timers-in-a-service-that-is-asked",
    make: (world) => {
      shops(world);
      world.every(10, (trace) => {
        const refresh = trace.span("internal", "search", "refresh cache", 400);
        refresh.ask("store", "GET /all", 10, 350);
      });
    },
  },
  {
    name: "fire-and-forget",
    setting,
    make: (world) =>
      world.every(20, (trace) => {
        const mail = shop(trace).own("internal", "send mail", 55, 400);
        mail.ask("mailer", "POST /mail", 20, 300);
      }),
  },
  {
    name: "outbox-sent-long-after",
    setting,
    make: (world) => {
      shops(world);
      world.every(20, (trace) => {
        const relay = trace.span("producer", "web", "outbox send", 4);
        handled(relay.span("consumer", "mailer", "outbox process", 10, 30));
      });
    },
  },
];
