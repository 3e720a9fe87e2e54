// SimGrid's side of `make bench-peers`: the same max-min problem, and the same ring all-reduce.
//
//   peer solve PROBLEM RATES REPEATS   solves PROBLEM with SimGrid's linear max-min solver, writes one rate per
//                                      line into RATES and prints the seconds of each repeat: "build SOLVE"
//   peer ring HOSTS BYTES BYTES_PER_S  runs a ring all-reduce and prints simulated and wall seconds
//
// PROBLEM is plain text: the number of links, their capacities, the number of flows, and for each flow the number of
// its links and their numbers.
#include <simgrid/kernel/resource/Action.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u.hpp>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// The library exports its solver but the package has no header for it: the few calls that are needed, declared.
namespace simgrid::kernel::lmm {
class System {
public:
  static System* build(std::string_view solver, bool selective_update);
  Constraint* constraint_new(resource::Resource* id, double bound);
  Variable* variable_new(resource::Action* id, double penalty, double bound, size_t constraints);
  void expand(Constraint* constraint, Variable* variable, double weight, bool force);
  void solve();
};
} // namespace simgrid::kernel::lmm

namespace {

namespace lmm = simgrid::kernel::lmm;
namespace resource = simgrid::kernel::resource;
namespace sg4 = simgrid::s4u;

double now()
{
  using clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

// A flow, so that the library tells its rate.
class Flow : public resource::Action {
public:
  explicit Flow(resource::Model* model) : Action(model, 1.0, false) {}
  void update_remains_lazy(double) override {}
};

struct Problem {
  std::vector<double> capacities;
  std::vector<std::vector<int>> flows;
};

Problem read(const char* path)
{
  std::ifstream in(path);
  size_t links = 0;
  size_t flows = 0;
  Problem problem;
  in >> links;
  problem.capacities.resize(links);
  for (double& capacity : problem.capacities)
    in >> capacity;
  in >> flows;
  problem.flows.resize(flows);
  for (auto& flow : problem.flows) {
    size_t count = 0;
    in >> count;
    flow.resize(count);
    for (int& link : flow)
      in >> link;
  }
  if (!in)
    throw std::runtime_error(std::string("cannot read the problem in ") + path);
  return problem;
}

int solve(const char* problem_path, const char* rates_path, int repeats)
{
  const Problem problem = read(problem_path);
  for (int repeat = 0; repeat < repeats; repeat++) {
    const double begin = now();
    // The model keeps the system; both stay to the end of the process.
    auto* model = new resource::Model("peer");
    lmm::System* system = lmm::System::build("maxmin", false);
    std::vector<lmm::Constraint*> links;
    for (double capacity : problem.capacities)
      links.push_back(system->constraint_new(nullptr, capacity));
    std::vector<Flow*> flows;
    for (const auto& crossed : problem.flows) {
      auto* flow = new Flow(model);
      lmm::Variable* variable = system->variable_new(flow, 1.0, -1.0, crossed.size());
      flow->set_variable(variable);
      for (int link : crossed)
        system->expand(links[link], variable, 1.0, false);
      flows.push_back(flow);
    }
    const double built = now();
    system->solve();
    const double solved = now();
    std::printf("%.9f %.9f\n", built - begin, solved - built);
    if (repeat + 1 == repeats) {
      std::ofstream out(rates_path);
      out.precision(17);
      for (const Flow* flow : flows)
        out << flow->get_rate() << "\n";
    }
  }
  std::fflush(stdout);
  // Nothing is taken down: only the solve is of interest.
  std::_Exit(0);
}

void rank(int self, int hosts, double bytes)
{
  sg4::Mailbox* next = sg4::Mailbox::by_name(std::to_string((self + 1) % hosts));
  sg4::Mailbox* own = sg4::Mailbox::by_name(std::to_string(self));
  int token = 0;
  for (int stage = 0; stage < 2 * (hosts - 1); stage++) {
    int* received = nullptr;
    sg4::CommPtr send = next->put_async(&token, bytes / hosts);
    sg4::CommPtr receive = own->get_async(&received);
    send->wait();
    receive->wait();
  }
}

int ring(sg4::Engine& engine, int hosts, double bytes, double bytes_per_s)
{
  sg4::NetZone* leaf = sg4::create_star_zone("leaf");
  for (int host = 0; host < hosts; host++) {
    const std::string name = std::to_string(host);
    sg4::Host* machine = leaf->create_host("host-" + name, 1e9);
    const sg4::Link* cable = leaf->create_split_duplex_link("cable-" + name, bytes_per_s);
    const auto* duplex = static_cast<const sg4::SplitDuplexLink*>(cable);
    leaf->add_route(machine->get_netpoint(), nullptr, nullptr, nullptr,
                    {{duplex, sg4::LinkInRoute::Direction::UP}}, true);
    sg4::Actor::create("rank-" + name, machine, rank, host, hosts, bytes);
  }
  leaf->seal();
  const double begin = now();
  engine.run();
  std::printf("%.12f %.9f\n", sg4::Engine::get_clock(), now() - begin);
  return 0;
}

} // namespace

int main(int argc, char** argv)
{
  // Pure max-min: no window bound, no factors for protocols, no traffic of acknowledgements.
  sg4::Engine engine(&argc, argv);
  for (const char* setting : {"network/model:CM02", "network/crosstraffic:0", "network/latency-factor:1",
                              "network/bandwidth-factor:1", "network/TCP-gamma:0", "network/weight-S:0"})
    sg4::Engine::set_config(setting);
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "solve" && argc == 5)
    return solve(argv[2], argv[3], std::stoi(argv[4]));
  if (what == "ring" && argc == 5)
    return ring(engine, std::stoi(argv[2]), std::stod(argv[3]), std::stod(argv[4]));
  std::cerr << "usage: peer solve PROBLEM RATES REPEATS | peer ring HOSTS BYTES BYTES_PER_S\n";
  return 2;
}
