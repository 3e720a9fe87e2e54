// ns-3's side of `make bench-peers`: the packets of given flows over given paths.
//
//   peer udp FLOWS    hosts and switches run ns-3's Internet stack with static host routes, senders use UDP sockets
//   peer bare FLOWS   the least that ns-3 can do: devices and channels only, a packet carries the number of its flow
//
// Senders are paced at the rate of their first link. Nothing is acknowledged, nothing pauses and queues have no end:
// the released ns-3 has neither RDMA nor priority flow control. The packets of both modes have the same size on the
// wire. FLOWS is plain text:
//
//   payload of a full packet, bytes on the wire beside it
//   number of nodes, number of cables
//   for each cable: its nodes A and B, bits/s, delay in ps; link 2c runs from A to B, link 2c + 1 back
//   number of flows
//   for each flow: its bytes, the number of its links, the links in order
//
// Prints one JSON object.
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/version.h>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using ns3::Ptr;

// What the stack itself puts on the wire: PPP of the device, IPv4, UDP.
constexpr uint32_t PPP = 2;
constexpr uint32_t IP_AND_UDP = 28;
constexpr uint16_t UDP_PORT = 4791;
constexpr uint16_t IPV4 = 0x0800;
constexpr uint32_t FIRST_INTERFACE_ADDRESS = 0xac100000; // 172.16.0.0
constexpr uint32_t FIRST_FLOW_ADDRESS = 0x0a000001;      // 10.0.0.1

struct Cable {
  uint32_t ends[2];
  uint64_t bits_per_s;
  int64_t delay_ps;
};

struct Flow {
  uint64_t bytes;
  std::vector<uint32_t> links;
  uint64_t received = 0;
  ns3::Time end;
};

struct Problem {
  uint32_t payload;
  uint32_t header;
  uint32_t nodes;
  std::vector<Cable> cables;
  std::vector<Flow> flows;

  uint32_t source(uint32_t link) const { return cables[link / 2].ends[link % 2]; }
  uint32_t target(uint32_t link) const { return cables[link / 2].ends[1 - link % 2]; }
};

Problem read(const char* path)
{
  std::ifstream in(path);
  Problem problem{};
  size_t cables = 0;
  size_t flows = 0;
  in >> problem.payload >> problem.header >> problem.nodes >> cables;
  problem.cables.resize(in ? cables : 0);
  for (Cable& cable : problem.cables) {
    in >> cable.ends[0] >> cable.ends[1] >> cable.bits_per_s >> cable.delay_ps;
    if (in && (std::max(cable.ends[0], cable.ends[1]) >= problem.nodes || cable.bits_per_s == 0))
      throw std::runtime_error(std::string(path) + ": a cable has no rate, or ends at no node");
  }
  in >> flows;
  problem.flows.resize(in ? flows : 0);
  for (Flow& flow : problem.flows) {
    size_t links = 0;
    in >> flow.bytes >> links;
    flow.links.resize(in ? links : 0);
    for (uint32_t& link : flow.links) {
      in >> link;
      if (link >= 2 * cables)
        throw std::runtime_error(std::string(path) + ": a flow names link " + std::to_string(link));
    }
    if (in && (links == 0 || flow.bytes == 0))
      throw std::runtime_error(std::string(path) + ": a flow has neither bytes nor links");
  }
  if (!in)
    throw std::runtime_error(std::string("cannot read the flows in ") + path);
  if (problem.header < PPP + IP_AND_UDP)
    throw std::runtime_error("PPP, IPv4 and UDP have 30 bytes beside the payload");
  return problem;
}

// The number of a packet's flow, where there is no Internet stack.
class FlowNumber : public ns3::Header {
public:
  static constexpr uint32_t SIZE = 4;
  uint32_t flow = 0;

  static ns3::TypeId GetTypeId()
  {
    static const ns3::TypeId id =
        ns3::TypeId("railtwin::FlowNumber").SetParent<ns3::Header>().AddConstructor<FlowNumber>();
    return id;
  }
  ns3::TypeId GetInstanceTypeId() const override { return GetTypeId(); }
  void Print(std::ostream& out) const override { out << flow; }
  uint32_t GetSerializedSize() const override { return SIZE; }
  void Serialize(ns3::Buffer::Iterator start) const override { start.WriteU32(flow); }
  uint32_t Deserialize(ns3::Buffer::Iterator start) override
  {
    flow = start.ReadU32();
    return SIZE;
  }
};

class Network {
public:
  explicit Network(const Problem& problem) : problem(problem), flows(problem.flows)
  {
    nodes.Create(problem.nodes);
    const ns3::QueueSize endless(ns3::QueueSizeUnit::PACKETS, UINT32_MAX);
    for (const Cable& cable : problem.cables) {
      auto channel = ns3::CreateObject<ns3::PointToPointChannel>();
      channel->SetAttribute("Delay", ns3::TimeValue(ns3::PicoSeconds(cable.delay_ps)));
      for (uint32_t end : cable.ends) {
        auto queue = ns3::CreateObject<ns3::DropTailQueue<ns3::Packet>>();
        queue->SetMaxSize(endless);
        auto device = ns3::CreateObject<ns3::PointToPointNetDevice>();
        device->SetAddress(ns3::Mac48Address::Allocate());
        device->SetDataRate(ns3::DataRate(cable.bits_per_s));
        device->SetMtu(UINT16_MAX);
        device->SetQueue(queue);
        nodes.Get(end)->AddDevice(device);
        device->Attach(channel);
        // The device at the source of link `devices.size()`.
        devices.push_back(device);
      }
    }
  }

  // Hosts and switches route by IPv4: each flow has an address of its own at its target.
  void stack()
  {
    ns3::InternetStackHelper internet;
    ns3::Ipv4StaticRoutingHelper routing;
    internet.SetRoutingHelper(routing);
    internet.SetIpv6StackInstall(false);
    internet.Install(nodes);
    const ns3::Ipv4Mask host = ns3::Ipv4Mask::GetOnes();
    std::vector<uint32_t> interface;
    for (uint32_t link = 0; link < devices.size(); link++) {
      auto ipv4 = devices[link]->GetNode()->GetObject<ns3::Ipv4>();
      interface.push_back(ipv4->AddInterface(devices[link]));
      const ns3::Ipv4Address own(FIRST_INTERFACE_ADDRESS + link);
      ipv4->AddAddress(interface[link], ns3::Ipv4InterfaceAddress(own, host));
      ipv4->SetUp(interface[link]);
    }
    for (uint32_t flow = 0; flow < flows.size(); flow++) {
      const uint32_t arrives = flows[flow].links.back() ^ 1;
      auto ipv4 = devices[arrives]->GetNode()->GetObject<ns3::Ipv4>();
      ipv4->AddAddress(interface[arrives], ns3::Ipv4InterfaceAddress(address(flow), host));
    }
    // Routes are searched one by one: those that nobody takes go.
    for (uint32_t node = 0; node < nodes.GetN(); node++) {
      auto table = routing.GetStaticRouting(nodes.Get(node)->GetObject<ns3::Ipv4>());
      while (table->GetNRoutes() > 0)
        table->RemoveRoute(0);
    }
    for (uint32_t flow = 0; flow < flows.size(); flow++) {
      for (uint32_t link : flows[flow].links) {
        auto table = routing.GetStaticRouting(devices[link]->GetNode()->GetObject<ns3::Ipv4>());
        table->AddHostRouteTo(address(flow), interface[link]);
      }
    }
    for (uint32_t flow = 0; flow < flows.size(); flow++) {
      auto receiver = socket(problem.target(flows[flow].links.back()));
      receiver->Bind(ns3::InetSocketAddress(address(flow), UDP_PORT));
      receiver->SetRecvCallback(ns3::MakeBoundCallback(&Network::received, this, flow));
      sockets.push_back(receiver);
      auto sender = socket(problem.source(flows[flow].links.front()));
      sender->Bind();
      sender->Connect(ns3::InetSocketAddress(address(flow), UDP_PORT));
      sockets.push_back(sender);
      senders.push_back(sender);
    }
  }

  // Devices hand packets to us; the path of a flow says by which device its packets leave a node.
  void bare()
  {
    for (const auto& device : devices)
      device->SetReceiveCallback(ns3::MakeCallback(&Network::forward, this));
  }

  // Sends the next packet of a flow and comes back when its last bit has left.
  void send(uint32_t flow, uint64_t left)
  {
    const auto payload = static_cast<uint32_t>(std::min<uint64_t>(left, problem.payload));
    const auto& device = devices[flows[flow].links.front()];
    const uint32_t wire = payload + problem.header;
    if (senders.empty()) {
      auto packet = ns3::Create<ns3::Packet>(wire - PPP - FlowNumber::SIZE);
      FlowNumber number;
      number.flow = flow;
      packet->AddHeader(number);
      device->Send(packet, device->GetBroadcast(), IPV4);
    } else {
      senders[flow]->Send(ns3::Create<ns3::Packet>(wire - PPP - IP_AND_UDP));
    }
    const uint64_t bits_per_s = problem.cables[flows[flow].links.front() / 2].bits_per_s;
    if (left > payload)
      ns3::Simulator::Schedule(ns3::DataRate(bits_per_s).CalculateBytesTxTime(wire), &Network::send, this, flow,
                               left - payload);
  }

  void start()
  {
    for (uint32_t flow = 0; flow < flows.size(); flow++) {
      const uint32_t node = problem.source(flows[flow].links.front());
      ns3::Simulator::ScheduleWithContext(node, ns3::Time(0), &Network::send, this, flow, flows[flow].bytes);
    }
  }

  // Packets that the devices sent, each counted on each link; every packet passes the queue of its device.
  uint64_t packet_hops() const
  {
    uint64_t hops = 0;
    for (const auto& device : devices) {
      const auto queue = device->GetQueue();
      if (queue->GetTotalDroppedPackets() > 0 || queue->GetNPackets() > 0)
        throw std::runtime_error("a queue lost or kept packets");
      hops += queue->GetTotalReceivedPackets();
    }
    return hops;
  }

  const std::vector<Flow>& finished() const
  {
    for (const Flow& flow : flows) {
      if (flow.received != flow.bytes)
        throw std::runtime_error("a flow lost bytes or took another path");
    }
    return flows;
  }

private:
  static ns3::Ipv4Address address(uint32_t flow) { return ns3::Ipv4Address(FIRST_FLOW_ADDRESS + flow); }

  Ptr<ns3::Socket> socket(uint32_t node)
  {
    return ns3::Socket::CreateSocket(nodes.Get(node), ns3::UdpSocketFactory::GetTypeId());
  }

  void arrive(uint32_t flow, uint32_t payload)
  {
    flows[flow].received += payload;
    if (flows[flow].received == flows[flow].bytes)
      flows[flow].end = ns3::Simulator::Now();
  }

  static void received(Network* self, uint32_t flow, Ptr<ns3::Socket> socket)
  {
    while (auto packet = socket->Recv())
      self->arrive(flow, packet->GetSize() - (self->problem.header - PPP - IP_AND_UDP));
  }

  bool forward(Ptr<ns3::NetDevice> device, Ptr<const ns3::Packet> packet, uint16_t, const ns3::Address&)
  {
    FlowNumber number;
    packet->PeekHeader(number);
    const uint32_t node = device->GetNode()->GetId();
    for (uint32_t link : flows[number.flow].links) {
      if (problem.source(link) == node)
        return devices[link]->Send(packet->Copy(), devices[link]->GetBroadcast(), IPV4);
    }
    arrive(number.flow, packet->GetSize() - (problem.header - PPP));
    return true;
  }

  const Problem& problem;
  std::vector<Flow> flows;
  ns3::NodeContainer nodes;
  std::vector<Ptr<ns3::PointToPointNetDevice>> devices;
  std::vector<Ptr<ns3::Socket>> sockets;
  std::vector<Ptr<ns3::Socket>> senders;
};

double now()
{
  using clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

int run(const std::string& mode, const char* path)
{
  // Nanoseconds, the default, would cut the time of each packet on the wire short.
  ns3::Time::SetResolution(ns3::Time::PS);
  // The fastest of its schedulers here; the default is a tree.
  ns3::ObjectFactory scheduler;
  scheduler.SetTypeId("ns3::PriorityQueueScheduler");
  ns3::Simulator::SetScheduler(scheduler);
  const Problem problem = read(path);
  const double begin = now();
  Network network(problem);
  if (mode == "udp")
    network.stack();
  else
    network.bare();
  network.start();
  const double built = now();
  ns3::Simulator::Run();
  const double ran = now();
  const auto& flows = network.finished();
  int64_t last = 0;
  double sum = 0.0;
  for (const Flow& flow : flows) {
    last = std::max(last, flow.end.GetPicoSeconds());
    sum += static_cast<double>(flow.end.GetPicoSeconds());
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("{\"version\": \"%u.%u\", \"profile\": \"%s\", \"mode\": \"%s\", ", ns3::Version::Major(),
              ns3::Version::Minor(), ns3::Version::BuildProfile().c_str(), mode.c_str());
  std::printf("\"packet_hops\": %lu, \"events\": %lu, \"build_s\": %.9f, \"wall_s\": %.9f, \"peak_kib\": %ld, ",
              network.packet_hops(), ns3::Simulator::GetEventCount(), built - begin, ran - built, usage.ru_maxrss);
  std::printf("\"last_ps\": %ld, \"mean_ps\": %.3f, \"ends_ps\": [", last, sum / static_cast<double>(flows.size()));
  for (size_t flow = 0; flow < flows.size(); flow++)
    std::printf("%s%ld", flow == 0 ? "" : ", ", flows[flow].end.GetPicoSeconds());
  std::printf("]}\n");
  std::fflush(stdout);
  // Nothing is taken down: only the run is of interest.
  std::_Exit(0);
}

} // namespace

int main(int argc, char** argv)
{
  const std::string mode = argc > 1 ? argv[1] : "";
  if ((mode != "udp" && mode != "bare") || argc != 3) {
    std::cerr << "usage: peer udp FLOWS | peer bare FLOWS\n";
    return 2;
  }
  try {
    return run(mode, argv[2]);
  } catch (const std::exception& error) {
    std::cerr << "peer: " << error.what() << "\n";
    return 1;
  }
}
