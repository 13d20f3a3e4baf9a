//! The only file that knows how the `redis` crate connects: one server, Sentinel, Cluster.
//!
//! Commands carry no time-out of the crate's own: who sends sets the budget.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use redis::{
    Client, Cmd, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, PushInfo,
    PushKind, RedisError, RedisResult, TlsCertificates, TlsMode, Value,
    aio::MultiplexedConnection,
    cluster::{ClusterClient, ClusterClientBuilder},
    cluster_async::ClusterConnection,
    cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo, SingleNodeRoutingInfo},
    io::tcp::TcpSettings,
    sentinel::{SentinelClientBuilder, SentinelServerType},
};
use secrecy::ExposeSecret;

use super::{Address, Config, ConfigError, Mode, loss::Loss};

/// A peer that acknowledges nothing for this long is gone, whatever TCP would still try.
const USER_TIMEOUT: Duration = Duration::from_secs(3);
/// Calls that may wait for the socket before the next one has to wait for room.
const PIPELINE_BUFFER: usize = 1024;

/// Where to connect, understood and checked.
pub(super) struct Addresses {
    config: Config,
    addresses: Vec<ConnectionInfo>,
    shown: String,
}

impl Addresses {
    /// Understands the addresses of `config`; connects nowhere.
    pub(super) fn new(config: &Config) -> Result<Self, ConfigError> {
        let given = config.check()?;
        let shown = given.iter().map(Address::to_string).collect::<Vec<_>>().join(", ");
        let understood = |address: &Address| {
            let refused = |_| ConfigError::new("store.url", address.as_str(), Address::RULE);
            address.as_str().into_connection_info().map_err(refused)
        };
        let addresses: Vec<_> = given.iter().map(understood).collect::<Result<_, _>>()?;
        if addresses.iter().any(is_tls) {
            // Two providers in one binary leave rustls without a default, so name one. An error
            // says that the binary has chosen already, which is as good.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        Ok(Self { config: config.clone(), addresses, shown })
    }

    /// The addresses, fit for a log.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Connects and says hello, to each server within this time. `loss` hears of a later loss at
    /// once, also of an idle one.
    pub(super) async fn connect(&self, loss: &Arc<Loss>, within: Duration) -> RedisResult<Link> {
        match &self.config.mode {
            Mode::Single => self.connect_node(self.client(0)?, loss, within).await,
            Mode::Sentinel { master } => {
                let primary = self.sentinel(master)?.build()?.async_get_client().await?;
                self.connect_node(primary, loss, within).await
            }
            Mode::Cluster => Ok(Link::Cluster(self.cluster(within)?.get_async_connection().await?)),
        }
    }

    async fn connect_node(
        &self,
        client: Client,
        loss: &Arc<Loss>,
        within: Duration,
    ) -> RedisResult<Link> {
        let loss = loss.clone();
        let on_push = move |push: PushInfo| {
            if push.kind == PushKind::Disconnection {
                loss.lose("the server closed the connection");
            }
            Ok::<(), Infallible>(())
        };
        let config = connection_config(within).set_push_sender(on_push);
        client.get_multiplexed_async_connection_with_config(&config).await.map(Link::Node)
    }

    /// Connects to one server to listen there, within this time: the one that takes the writes, or
    /// of a cluster the node at this address, counted round.
    pub(super) async fn connect_listener(
        &self,
        nth: usize,
        within: Duration,
        on_push: impl Fn(PushInfo) -> Result<(), Infallible> + Send + Sync + 'static,
    ) -> RedisResult<Link> {
        let client = match &self.config.mode {
            Mode::Single => self.client(0)?,
            Mode::Sentinel { master } => self.sentinel(master)?.build()?.async_get_client().await?,
            Mode::Cluster => self.client(nth % self.addresses.len())?,
        };
        let config = connection_config(within).set_push_sender(on_push);
        client.get_multiplexed_async_connection_with_config(&config).await.map(Link::Node)
    }

    fn client(&self, nth: usize) -> RedisResult<Client> {
        let address = self.addresses[nth].clone();
        let mut settings = address.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
        if let Some(username) = &self.config.username {
            settings = settings.set_username(username);
        }
        if let Some(password) = &self.config.password {
            settings = settings.set_password(password.expose_secret());
        }
        let info = address.set_redis_settings(settings).set_tcp_settings(tcp_settings());
        match self.certificates()? {
            Some(certificates) => Client::build_with_tls(info, certificates),
            None => Client::open(info),
        }
    }

    /// Built for every connect: a Sentinel connection kept from last time may be as dead as
    /// the primary's.
    fn sentinel(&self, master: &str) -> RedisResult<SentinelClientBuilder> {
        let own = self.addresses[0].redis_settings();
        let mut builder = SentinelClientBuilder::new(
            self.addresses.iter().map(|address| address.addr().clone()),
            master,
            SentinelServerType::Master,
        )?
        .set_client_to_redis_protocol(ProtocolVersion::RESP3)
        .set_client_to_redis_db(own.db())
        .set_client_to_redis_tcp_settings(tcp_settings())
        .set_client_to_sentinel_tcp_settings(tcp_settings());
        if let Some(username) = own.username() {
            builder = builder.set_client_to_sentinel_username(username);
        }
        if let Some(password) = own.password() {
            builder = builder.set_client_to_sentinel_password(password);
        }
        if let Some(username) = &self.config.username {
            builder = builder.set_client_to_redis_username(username);
        }
        if let Some(password) = &self.config.password {
            builder = builder.set_client_to_redis_password(password.expose_secret());
        }
        if self.addresses.iter().any(is_tls) {
            builder = builder.set_client_to_redis_tls_mode(TlsMode::Secure);
        }
        if let Some(certificates) = self.certificates()? {
            builder = builder
                .set_client_to_redis_certificates(certificates.clone())
                .set_client_to_sentinel_certificates(certificates);
        }
        Ok(builder)
    }

    /// No repeats inside the client: it would send again what may have been executed, and the
    /// caller decides that. It still follows the topology.
    fn cluster(&self, within: Duration) -> RedisResult<ClusterClient> {
        let mut builder = ClusterClientBuilder::new(self.addresses.iter().cloned())
            .retries(0)
            .connection_timeout(within)
            .response_timeout(self.config.command_timeout)
            .use_protocol(ProtocolVersion::RESP3)
            .tcp_settings(tcp_settings());
        if let Some(username) = &self.config.username {
            builder = builder.username(username);
        }
        if let Some(password) = &self.config.password {
            builder = builder.password(password.expose_secret());
        }
        if let Some(certificates) = self.certificates()? {
            builder = builder.certs(certificates);
        }
        builder.build()
    }

    fn certificates(&self) -> RedisResult<Option<TlsCertificates>> {
        let Some(path) = &self.config.ca_file else { return Ok(None) };
        Ok(Some(TlsCertificates { client_tls: None, root_cert: Some(std::fs::read(path)?) }))
    }
}

/// Without a response time-out: the sender has its own.
fn connection_config(within: Duration) -> redis::AsyncConnectionConfig {
    redis::AsyncConnectionConfig::new()
        .set_connection_timeout(Some(within))
        .set_response_timeout(None)
        .set_pipeline_buffer_size(PIPELINE_BUFFER)
}

fn is_tls(address: &ConnectionInfo) -> bool {
    matches!(address.addr(), ConnectionAddr::TcpTls { .. })
}

fn tcp_settings() -> TcpSettings {
    let settings = TcpSettings::default().set_nodelay(true);
    #[cfg(target_os = "linux")]
    let settings = settings.set_user_timeout(USER_TIMEOUT);
    settings
}

/// An open connection.
#[derive(Clone)]
pub(super) enum Link {
    /// To the one server that takes the writes.
    Node(MultiplexedConnection),
    /// To all nodes of a cluster.
    Cluster(ClusterConnection),
}

impl Link {
    /// Sends a command to where its first key lives.
    pub(super) async fn send(&self, command: &Cmd) -> RedisResult<Value> {
        match self {
            // Handles share the socket; a clone is how one call uses it.
            Self::Node(node) => failed(node.clone().send_packed_command(command).await?),
            Self::Cluster(cluster) => {
                use redis::aio::ConnectionLike;
                failed(cluster.clone().req_packed_command(command).await?)
            }
        }
    }

    /// Sends a command to the node that a slot is moving to, announced as the protocol asks; to one
    /// that owns the slot already, that says nothing.
    pub(super) async fn send_asking(&self, command: &Cmd, to: (&str, u16)) -> RedisResult<Value> {
        let Self::Cluster(cluster) = self else { return self.send(command).await };
        let mut pipeline = redis::Pipeline::with_capacity(2);
        pipeline.cmd("ASKING").ignore().add_command(command.clone());
        let route = SingleNodeRoutingInfo::ByAddress { host: to.0.to_owned(), port: to.1 };
        let mut replies = cluster.clone().route_pipeline(pipeline, 0, 2, route).await?;
        failed(replies.pop().unwrap_or(Value::Nil))
    }

    /// Sends a command without keys to every node that takes writes: one reply from each.
    pub(super) async fn send_to_all(&self, command: &Cmd) -> RedisResult<Vec<Value>> {
        let Self::Cluster(cluster) = self else { return Ok(vec![self.send(command).await?]) };
        let routing = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
        match cluster.clone().route_command(command.clone(), routing).await? {
            Value::Map(replies) => replies.into_iter().map(|(_, reply)| failed(reply)).collect(),
            reply => Ok(vec![failed(reply)?]),
        }
    }

    /// Sends a command without keys to any node.
    pub(super) async fn send_to_any(&self, command: &Cmd) -> RedisResult<Value> {
        let Self::Cluster(cluster) = self else { return self.send(command).await };
        let routing = RoutingInfo::SingleNode(SingleNodeRoutingInfo::Random);
        failed(cluster.clone().route_command(command.clone(), routing).await?)
    }

    /// Listens to a channel, on a connection to one server.
    pub(super) async fn subscribe(&self, channel: &str) -> RedisResult<()> {
        match self {
            Self::Node(node) => node.clone().subscribe(channel).await,
            Self::Cluster(cluster) => cluster.clone().subscribe(channel).await,
        }
    }

    /// Whether this is a cluster, which looks after its own connections.
    pub(super) fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }
}

/// An error reply is an error.
fn failed(reply: Value) -> RedisResult<Value> {
    match reply {
        Value::ServerError(error) => Err(RedisError::from(error)),
        reply => Ok(reply),
    }
}
